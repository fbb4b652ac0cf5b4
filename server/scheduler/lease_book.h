// Every trial's state, with the queues, workers and counts that go with it: each function is one
// step of a trial and keeps them in agreement. When a step is due is up to Leases. A pure state
// machine; not thread-safe.
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

  // The trial is queued; false if it is here already. REQUIRES: the worker that it is for alone is
  // in contact.
  bool Add(const LeaseAsk& ask);
  // Null if it is not here.
  Trial* Find(const Digest& uid);
  Trial& At(const Digest& uid) { return trials_.at(uid); }
  // Of a queued trial.
  void Lease(const Digest& uid, Trial& trial, Worker& worker);
  // Out of its state, whichever that is.
  void Take(const Digest& uid, Trial& trial);
  // REQUIRES, of the three: it was taken.
  void Receive(Trial& trial);
  void Requeue(const Digest& uid, Trial& trial);  // in front
  // The trial is gone; `how` is what counts it: done, quarantined, dropped.
  void End(const Digest& uid, int64_t LeaseCounts::*how);

  // Trials of the job that workers hold.
  std::vector<Digest> LeasedOf(const Digest& job_id) const;
  TrialQueues& queues() { return queues_; }
  const TrialQueues& queues() const { return queues_; }
  LeaseWorkers& workers() { return workers_; }
  const LeaseWorkers& workers() const { return workers_; }
  // One more of these.
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
