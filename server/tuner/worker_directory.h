// The directory of workers: identity and state of each, what jobs wait for, and what the fleet
// needs to know. Thread-safe. Functions that take the tables are called with their mutex.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "server/scheduler/demand.h"
#include "server/tuner/live_state.h"
#include "server/tuner/sync_call.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

class WorkerDirectory {
 public:
  // Borrows all of them.
  WorkerDirectory(const TunerContext& context, TunerTables& tables, SearchQueue& queue)
      : context_(context), tables_(tables), queue_(queue) {}

  // Registers a call of a worker. `owner`: the caller that runs it; empty for a local one.
  // RESOURCE_EXHAUSTED if there are too many workers.
  Status Register(TunerTables& tables, const SyncCall& call, const std::string& owner)
      MLC_REQUIRES(tables.mutex);
  // Drops the state of workers that the roster evicts, and target classes without workers.
  void Forget(TunerTables& tables) MLC_REQUIRES(tables.mutex);
  // Records that a result of the worker breaks a rule, or that another worker contradicts it.
  void ReportBadResult(TunerTables& tables, const std::string& worker, const std::string& why)
      MLC_REQUIRES(tables.mutex);

  WorkerState StateOf(const TunerTables& tables, const std::string& worker,
                      const WorkerInfo& info) const MLC_REQUIRES(tables.mutex);
  // What a job with these needs waits for, for display.
  std::string WaitsFor(const TunerTables& tables, const Needs& needs) const
      MLC_REQUIRES(tables.mutex);
  // The share of the time of trials in which the devices of the class computed; 0: unknown.
  double GpuBusy(const TunerTables& tables, const std::string& target_class) const
      MLC_REQUIRES(tables.mutex);

  std::vector<WorkerLine> List() const MLC_EXCLUDES(tables_.mutex);
  LiveState Live() const MLC_EXCLUDES(tables_.mutex);
  Demand WorkDemand() const MLC_EXCLUDES(tables_.mutex);
  // Sets the part of the demand that the fleet has no workers for.
  void SetUnservedNeeds(const std::vector<Needs>& needs) MLC_EXCLUDES(tables_.mutex);

 private:
  WorkerActivity ActivityOf(const std::string& worker, const WorkerInfo& info) const
      MLC_REQUIRES(tables_.mutex);
  // True if the worker has not called for longer than a lease lasts.
  bool IsSilent(const WorkerInfo& info) const;

  const TunerContext& context_;
  TunerTables& tables_;
  SearchQueue& queue_;
};

}  // namespace mlc::server
