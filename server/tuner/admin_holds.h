// What administrators decide about single workers: a drain or a quarantine holds at once, and, as
// the log stores it, for later server processes. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"
#include "server/workers/admin_hold_kind.h"

namespace mlc::server {

class AdminHolds {
 public:
  // Borrows both.
  AdminHolds(const TunerContext& context, TunerTables& tables)
      : context_(context), tables_(tables) {}

  // Of earlier server processes; before the first call of a worker.
  Status Restore() MLC_EXCLUDES(tables_.mutex);
  // NOT_FOUND for a worker that never called; the log's error if the hold ends with this process.
  Status Set(const std::string& worker, AdminHoldKind hold, const std::string& reason)
      MLC_EXCLUDES(tables_.mutex);

 private:
  void Decide(TunerTables& tables, const std::string& worker, AdminHoldKind hold,
              const std::string& reason) const MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  TunerTables& tables_;
  // Holds are written in the order of the decisions.
  Mutex rows_ MLC_ACQUIRED_BEFORE(tables_.mutex);
};

}  // namespace mlc::server
