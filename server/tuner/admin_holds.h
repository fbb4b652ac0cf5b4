// The decisions of administrators about single workers: drain and quarantine. A decision takes
// effect immediately. The log stores it for later server processes. Thread-safe.
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

  // Restores the holds of earlier server processes. Call it before the first call of a worker.
  Status Restore() MLC_EXCLUDES(tables_.mutex);
  // Sets a hold. NOT_FOUND for a worker that never called. If the log's error is returned, the hold
  // takes effect but ends with this process.
  Status Set(const std::string& worker, AdminHoldKind hold, const std::string& reason)
      MLC_EXCLUDES(tables_.mutex);

 private:
  void Decide(TunerTables& tables, const std::string& worker, AdminHoldKind hold,
              const std::string& reason) const MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  TunerTables& tables_;
  // Held while a hold is written, so that the log has the holds in the order of the decisions.
  Mutex rows_ MLC_ACQUIRED_BEFORE(tables_.mutex);
};

}  // namespace mlc::server
