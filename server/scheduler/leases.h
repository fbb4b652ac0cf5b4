// Who may run which trial until when: a pure state machine. No clock, no I/O, no threads: time
// comes in as milliseconds of a steady clock that never runs backwards. Not thread-safe.
//
// A trial is queued, leased, or received (its result is being committed or confirmed); it ends as
// done, quarantined or dropped. Workers say with every call what they hold. A lease ends without a
// result when its worker is silent past the deadline, has left, or restarted: that is a strike
// against the trial, and after two such workers, or three attempts of any kind, it is quarantined.
// A trial with a strike is a suspect: a worker holds one at a time, and not the one that was lost
// with it while there is another, so that of all trials that a dying worker held only the guilty
// one meets the next victim. A reply that never reached the worker costs nothing.
//
// LeaseBook holds the trials' states, TrialQueues those that wait, LeaseWorkers who is in contact.
// Whose trial comes next is up to FairShares, which device_time.h tells what the time of devices
// goes to.
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
  // Queues a trial. False if it is here already, or for a worker alone that is not in contact.
  bool Add(const Ask& ask);
  bool Add(const Digest& uid, const Digest& job_id, const Needs& needs) {
    return Add(Ask{uid, job_id, needs, {}, {}, 0});
  }
  FairShares& shares() { return shares_; }  // where users and their jobs are told
  const FairShares& shares() const { return shares_; }

  using Contact = LeaseContact;
  using Grant = LeaseGrant;
  using Orders = LeaseOrders;
  // One call of a worker: renews what it holds, takes back what it lost, grants up to `want`. A
  // queued trial that the worker holds already (this side was restarted) becomes its lease.
  Orders Synchronize(const Contact& contact, int64_t now_ms);
  // The connection of a worker's incarnation broke: it has `disconnect_ms` to call again.
  void Disconnected(const std::string& worker, const std::string& incarnation, int64_t now_ms);

  enum class Receipt : uint8_t { kFirst, kBeingCommitted, kUnknown };
  // A result arrived, from whomever, with the device time that it cost if the worker tells. kFirst:
  // commit it, then call Finish or, if that failed, Undo.
  Receipt Receive(const Digest& uid, std::optional<double> device_s = {});
  void Finish(const Digest& uid);
  void Undo(const Digest& uid);
  // The worker could not make the trial. False if it is quarantined by that. The caller has
  // reported it: `Expire` does not return it.
  bool Retry(const Digest& uid);
  // The trial is not retried. The caller reports it to its job.
  void Quarantine(const Digest& uid);

  struct Ended {
    Digest uid;
    std::string why;
  };
  // Queues trials of silent workers again and forgets workers long gone; returns the trials
  // quarantined since the last call, and those for one worker that was lost.
  std::vector<Ended> Expire(int64_t now_ms);
  // Drops the job's queued trials and returns them; its leased ones may still finish.
  std::vector<Digest> DropQueued(const Digest& job_id);
  // Drops the job's leased trials, too: workers are told to stop them.
  std::vector<Digest> DropAll(const Digest& job_id);

  // Needs of a queued trial of the job that no eligible worker in contact can run; none: each of
  // its trials has one.
  std::optional<Needs> Unserved(const Digest& job_id) const;
  // Nothing is kept of a worker that is lost; of one in contact, all.
  void Forget(const std::string& worker);
  // Who is in contact, and what waits.
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
  // Ends a lease without a result; the reason if that ends the trial, which is then gone.
  std::string Lose(const Digest& uid, Loss loss);
  void LoseAll(Worker& worker, Loss loss, const std::set<Digest>& but);

  LeaseTerms terms_;
  FairShares shares_;
  LeaseBook book_{shares_};
  std::vector<Ended> ended_;
};

}  // namespace mlc::server
