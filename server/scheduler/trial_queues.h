// Trials that wait for a worker of their class: by job and needs, in the order of proposal. Whose
// trial comes next is up to FairShares, which is told what jobs wait. A pure state machine; not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "server/scheduler/capability.h"
#include "server/scheduler/fair_shares.h"
#include "server/scheduler/lease_state.h"
#include "server/scheduler/lease_types.h"

namespace mlc::server {

class TrialQueues {
 public:
  // Borrows the shares.
  explicit TrialQueues(FairShares& shares) : shares_(shares) {}

  // One more trial of the job, with the queue of its needs: it does not wait yet.
  lease_state::Queue& Join(const Digest& job_id, const Needs& needs);
  // A trial of the queue has ended. REQUIRES: it does not wait. The queue is gone with its last.
  void Leave(lease_state::Queue& queue);
  // The trial waits, behind all others or before them; gets its place.
  void Push(const Digest& uid, lease_state::Trial& trial, bool in_front);
  // It waits no longer.
  void Remove(const lease_state::Trial& trial);

  // The trial that comes next for who offers that. `suits`: asked of those that only some workers
  // may take.
  std::optional<Digest> NextFor(const Offer& offer,
                                const std::function<bool(const Digest&)>& suits) const;
  // All trials of the job that wait.
  std::vector<Digest> QueuedOf(const Digest& job_id) const;
  // Needs of a trial of the job that waits and is not served; none: all are.
  std::optional<Needs> Unserved(const Digest& job_id,
                                const std::function<bool(const Needs&)>& is_served) const;
  // Queued and leased trials by what they need, and of a job.
  std::map<Needs, LeaseLoad> LoadByNeeds() const;
  LeaseLoad LoadOf(const Digest& job_id) const;

 private:
  using Queues = std::map<std::pair<Digest, Needs>, lease_state::Queue>;

  Queues::const_iterator FirstOf(const Digest& job_id) const;
  // So many more trials of the queue's job wait for workers of its class.
  void Wait(const lease_state::Queue& queue, int count);

  FairShares& shares_;
  Queues queues_;
  std::map<std::pair<std::string, Digest>, int64_t> waiting_;  // by class and job id
  int64_t first_place_ = 0;
  int64_t last_place_ = 0;
};

}  // namespace mlc::server
