// Decides which worker may run which trial until when: a pure state machine. It has no clock, I/O
// or threads; the caller passes the time in milliseconds of a steady clock that never runs
// backwards. Not thread-safe.
//
// A trial is queued, leased or received (its result is being committed or confirmed); it ends as
// done, quarantined or dropped. Each call of a worker lists the trials that it holds. A lease ends
// without a result if its worker is silent past the deadline, leaves or restarts. Such a loss is a
// strike against the trial. After two lost workers or three attempts of any kind, the trial is
// quarantined. A trial with a strike is a suspect. A worker holds at most one suspect, and the
// worker that was lost with it gets it only if there is no other. So if a worker dies with several
// trials, only the trial that caused it meets the next worker alone. A reply that never reached the
// worker costs no attempt.
//
// LeaseBook has the states of the trials, TrialQueues the waiting ones, and LeaseWorkers the
// workers in contact. FairShares decides whose trial comes next, with the device time that
// device_time.h charges.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "server/scheduler/capability.h"
#include "server/scheduler/fair_shares.h"
#include "server/scheduler/lease_book.h"
#include "server/scheduler/lease_types.h"

namespace mlc::server {

class Leases {
 public:
  explicit Leases(LeaseTerms terms) : terms_(terms) {}

  using Ask = LeaseAsk;
  // Queues a trial. False if the trial is already known, or if its only worker is not in contact.
  bool Add(const Ask& ask);
  bool Add(const Digest& uid, const Digest& job_id, const Needs& needs) {
    return Add(Ask{uid, job_id, needs, {}, {}, 0});
  }
  FairShares& shares() { return shares_; }  // to set users and their jobs
  const FairShares& shares() const { return shares_; }

  using Contact = LeaseContact;
  using Grant = LeaseGrant;
  using Orders = LeaseOrders;
  // Handles one call of a worker: renews its leases, takes back those that it lost, and grants up
  // to `want` trials. If the worker already holds a queued trial, because the server was restarted,
  // the trial becomes its lease.
  Orders Synchronize(const Contact& contact, int64_t now_ms);
  // The connection of this incarnation broke. The worker is lost unless it calls within
  // `disconnect_ms`.
  void Disconnected(const std::string& worker, const std::string& incarnation, int64_t now_ms);

  enum class Receipt : uint8_t { kFirst, kBeingCommitted, kUnknown };
  // A result arrived, from any worker, with its device time if the worker reports it. If it is
  // kFirst, commit the result and then call Finish; if the commit failed, call Undo.
  Receipt Receive(const Digest& uid, std::optional<double> device_s = {});
  void Finish(const Digest& uid);
  void Undo(const Digest& uid);
  // The worker could not run the trial. False if this quarantines the trial; the caller then
  // reports it, and Expire does not return it.
  bool Retry(const Digest& uid);
  // Quarantines the trial without a retry. The caller reports it to its job.
  void Quarantine(const Digest& uid);

  struct Ended {
    Digest uid;
    std::string why;
  };
  // Requeues the trials of silent workers and forgets workers that are long gone. Returns the
  // trials that were quarantined since the last call, and those whose only worker was lost.
  std::vector<Ended> Expire(int64_t now_ms);
  // Drops the queued trials of the job and returns them. Its leased trials may still finish.
  std::vector<Digest> DropQueued(const Digest& job_id);
  // Also drops the leased trials of the job; the workers are told to stop them.
  std::vector<Digest> DropAll(const Digest& job_id);

  // The needs of a queued trial of the job that no eligible worker in contact meets. Empty if each
  // of its trials has a worker.
  std::optional<Needs> Unserved(const Digest& job_id) const;
  // Forgets a lost worker. Has no effect on a worker in contact.
  void Forget(const std::string& worker);
  // The workers in contact and the waiting trials.
  const LeaseWorkers& workers() const { return book_.workers(); }
  const TrialQueues& queues() const { return book_.queues(); }
  using Load = LeaseLoad;
  using Counts = LeaseCounts;
  const Counts& counts() const { return book_.counts(); }

 private:
  using Trial = lease_state::Trial;
  using Worker = lease_state::Worker;
  enum class Loss : uint8_t { kReplyLost, kWorkerLost, kNotMade };

  // leases.cc
  bool Adopt(const Digest& uid, Worker& worker, bool quarantined);
  bool Suits(const Digest& uid, const Worker& worker, int64_t now_ms);
  void GrantTo(Worker& worker, const Contact& contact, int64_t now_ms, Orders& orders);
  // leases_losses.cc
  // Ends a lease without a result. Returns the reason if that ends and removes the trial.
  std::string Lose(const Digest& uid, Loss loss);
  void LoseAll(Worker& worker, Loss loss, const std::set<Digest>& but);

  LeaseTerms terms_;
  FairShares shares_;
  LeaseBook book_{shares_};
  std::vector<Ended> ended_;
};

}  // namespace mlc::server
