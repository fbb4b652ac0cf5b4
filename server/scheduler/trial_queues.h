// The trials that wait for a worker of their class, by job and needs, in the order of proposal.
// FairShares decides whose trial comes next and is told which jobs wait. A pure state machine; not
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

  // Adds a trial of the job to the queue of its needs. The trial does not wait yet.
  lease_state::Queue& Join(const Digest& job_id, const Needs& needs);
  // Removes a trial of the queue. REQUIRES: the trial does not wait. Removing the last trial
  // removes the queue.
  void Leave(lease_state::Queue& queue);
  // Lets the trial wait, behind all others or before them, and sets its place.
  void Push(const Digest& uid, lease_state::Trial& trial, bool in_front);
  // Ends the wait of the trial.
  void Remove(const lease_state::Trial& trial);

  // The next trial that the offer meets. `suits` decides about trials that not every worker may
  // take.
  std::optional<Digest> NextFor(const Offer& offer,
                                const std::function<bool(const Digest&)>& suits) const;
  // All waiting trials of the job.
  std::vector<Digest> QueuedOf(const Digest& job_id) const;
  // The needs of a waiting trial of the job for which `is_served` is false; empty if there is none.
  std::optional<Needs> Unserved(const Digest& job_id,
                                const std::function<bool(const Needs&)>& is_served) const;
  // The numbers of queued and leased trials, by needs and of one job.
  std::map<Needs, LeaseLoad> LoadByNeeds() const;
  LeaseLoad LoadOf(const Digest& job_id) const;

 private:
  using Queues = std::map<std::pair<Digest, Needs>, lease_state::Queue>;

  Queues::const_iterator FirstOf(const Digest& job_id) const;
  // Adds `count` to the waiting trials of the queue's job in its class.
  void Wait(const lease_state::Queue& queue, int count);

  FairShares& shares_;
  Queues queues_;
  std::map<std::pair<std::string, Digest>, int64_t> waiting_;  // by class and job id
  int64_t first_place_ = 0;
  int64_t last_place_ = 0;
};

}  // namespace mlc::server
