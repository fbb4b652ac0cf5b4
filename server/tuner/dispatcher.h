// Hands trials to workers: takes them from searches, queues them as leases, fills the answers of
// calls, and tells the search of a trial that ended. Thread-safe; functions that take the tables
// are called with their mutex.
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

  // Queues the job's trials, whose claims are parallel to them, and wakes workers for them.
  void Queue(const std::shared_ptr<RunningJob>& job, std::vector<Trial> trials,
             std::vector<Claim> claims) MLC_EXCLUDES(tables_.mutex);
  // Of the job: the trials that no worker holds, or all. Returns what was dropped.
  std::vector<Digest> DropQueued(TunerTables& tables, const Digest& job) const
      MLC_REQUIRES(tables.mutex);
  void DropAll(TunerTables& tables, const Digest& job) const MLC_REQUIRES(tables.mutex);

  // Leases for a call whose results are all kept.
  void FillLeases(const SyncCall& call, WorkerOrders& orders) MLC_EXCLUDES(tables_.mutex);
  // Whether a trial that no job has asked for is foreign, not only early.
  bool RecoveryIsOver(const TunerTables& tables) const MLC_REQUIRES(tables.mutex);

  // A result of the trial is in the log: the search learns it.
  void Deliver(TunerTables& tables, const Digest& uid, const Measurement& measurement)
      MLC_REQUIRES(tables.mutex);
  // Gives the trial up: the search learns it, the log does not.
  void Abandon(TunerTables& tables, const Digest& uid, const std::string& why)
      MLC_REQUIRES(tables.mutex);

  // No new trials; waits for those under way, at most so long.
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
