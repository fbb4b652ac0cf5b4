// The state of every trial, with the queues, workers and counts. Each function is one transition of
// a trial and keeps them consistent; Leases decides when it is due. A pure state machine; not
// thread-safe.
//
//            Lease           Take, Receive
//   queued --------> leased ---------------> received      Take: out of any state, before Receive,
//      ^                |                       |          Requeue or End.
//      +---- Take, Requeue ---------------------+
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "server/scheduler/lease_state.h"
#include "server/scheduler/lease_types.h"
#include "server/scheduler/lease_workers.h"
#include "server/scheduler/trial_queues.h"

namespace mlc::server {

class LeaseBook {
 public:
  using Trial = lease_state::Trial;
  using Worker = lease_state::Worker;

  // Borrows the shares.
  explicit LeaseBook(FairShares& shares) : queues_(shares) {}
  LeaseBook(const LeaseBook&) = delete;
  LeaseBook& operator=(const LeaseBook&) = delete;

  // Queues the trial; false if it is already known. REQUIRES: if the trial names its only worker,
  // that worker is in contact.
  bool Add(const LeaseAsk& ask);
  // Null for an unknown trial.
  Trial* Find(const Digest& uid);
  Trial& At(const Digest& uid) { return trials_.at(uid); }
  // Leases a queued trial to the worker.
  void Lease(const Digest& uid, Trial& trial, Worker& worker);
  // Takes the trial out of its current state.
  void Take(const Digest& uid, Trial& trial);
  // REQUIRES for Receive, Requeue and End: the trial was taken.
  void Receive(Trial& trial);
  void Requeue(const Digest& uid, Trial& trial);  // before all others
  // Removes the trial. `how`: the counter of its end (done, quarantined or dropped).
  void End(const Digest& uid, int64_t LeaseCounts::*how);

  // Trials of the job that workers hold.
  std::vector<Digest> LeasedOf(const Digest& job_id) const;
  TrialQueues& queues() { return queues_; }
  const TrialQueues& queues() const { return queues_; }
  LeaseWorkers& workers() { return workers_; }
  const LeaseWorkers& workers() const { return workers_; }
  // Increments a counter.
  void Count(int64_t LeaseCounts::*what) { ++(counts_.*what); }
  const LeaseCounts& counts() const { return counts_; }

 private:
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };
  void Enqueue(const Digest& uid, Trial& trial, bool in_front);

  TrialQueues queues_;
  LeaseWorkers workers_;
  std::unordered_map<Digest, Trial, Hash> trials_;
  LeaseCounts counts_;
};

}  // namespace mlc::server
