// What administrators decide about single workers: a drain or a quarantine holds at once, and, as
// the log stores it, for later server processes. Thread-safe.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

class AdminHolds {
 public:
  // Borrows both.
  AdminHolds(const TunerContext& context, TunerTables& tables)
      : context_(context), tables_(tables) {}

  // Of earlier server processes; before the first call of a worker.
  Status Restore() MLC_EXCLUDES(tables_.mutex);
  // NOT_FOUND for a worker that never called; the log's error if the hold ends with this process.
  Status Drain(const std::string& worker, const std::string& reason) MLC_EXCLUDES(tables_.mutex);
  Status Quarantine(const std::string& worker, const std::string& reason)
      MLC_EXCLUDES(tables_.mutex);
  Status Release(const std::string& worker) MLC_EXCLUDES(tables_.mutex);

 private:
  // `decide` runs with the mutex of the tables held.
  Status Set(const std::string& worker, const std::string& what,
             const std::function<void(WorkerRegistry&)>& decide) MLC_EXCLUDES(tables_.mutex);

  const TunerContext& context_;
  TunerTables& tables_;
  // Holds are written in the order of the decisions.
  Mutex rows_ MLC_ACQUIRED_BEFORE(tables_.mutex);
};

}  // namespace mlc::server
