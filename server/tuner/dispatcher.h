// Dispatches trials to workers: takes them from searches, queues them as leases, fills the answers
// of calls, and tells the search when a trial ends. Thread-safe. Functions that take the tables are
// called with their mutex.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/tuner/sync_call.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

class Dispatcher {
 public:
  // Borrows all of them.
  Dispatcher(const TunerContext& context, TunerTables& tables, SearchQueue& queue)
      : context_(context), tables_(tables), queue_(queue) {}

  // Queues the job's trials and wakes workers for them. `claims` is parallel to `trials`.
  void Queue(const std::shared_ptr<RunningJob>& job, std::vector<Trial> trials,
             std::vector<Claim> claims) MLC_EXCLUDES(tables_.mutex);
  // DropQueued drops the job's trials that no worker holds and returns them. DropAll drops all
  // trials of the job.
  std::vector<Digest> DropQueued(TunerTables& tables, const Digest& job) const
      MLC_REQUIRES(tables.mutex);
  void DropAll(TunerTables& tables, const Digest& job) const MLC_REQUIRES(tables.mutex);

  // Adds leases to the answer of a call whose results are all stored.
  void FillLeases(const SyncCall& call, WorkerOrders& orders) MLC_EXCLUDES(tables_.mutex);
  // True once every job whose class has workers has proposed its earlier trials again. From then on
  // a result of a trial that no job asked for is foreign; before, its job may still propose it.
  bool RecoveryIsOver(const TunerTables& tables) const MLC_REQUIRES(tables.mutex);

  // Passes a result of the trial to its search. REQUIRES: the log has the result.
  void Deliver(TunerTables& tables, const Digest& uid, const Measurement& measurement)
      MLC_REQUIRES(tables.mutex);
  // Gives up the trial: the search learns that, the log does not store it.
  void Abandon(TunerTables& tables, const Digest& uid, const std::string& why)
      MLC_REQUIRES(tables.mutex);

  // Hands out no new trials, and waits at most this long for trials in progress.
  void Drain(int64_t timeout_ms) MLC_EXCLUDES(tables_.mutex);

 private:
  LeaseAsk AskFor(const TunerTables& tables, const RunningJob& job, const Trial& trial,
                  const Claim& claim) const MLC_REQUIRES(tables.mutex);
  LeaseContact ContactOf(const TunerTables& tables, const SyncCall& call,
                         const WorkerInfo& info) const MLC_REQUIRES(tables.mutex);
  LeasedTrial Fill(TunerTables& tables, const LeaseGrant& grant) const MLC_REQUIRES(tables.mutex);
  int64_t NextPollMs(const TunerTables& tables, const SyncCall& call, bool has_leases) const
      MLC_REQUIRES(tables.mutex);
  static int64_t UnderWay(const TunerTables& tables) MLC_REQUIRES(tables.mutex);
  void Learn(TunerTables& tables, std::map<Digest, PendingTrial>::iterator trial,
             const Measurement& measurement) MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  TunerTables& tables_;
  SearchQueue& queue_;
};

}  // namespace mlc::server
