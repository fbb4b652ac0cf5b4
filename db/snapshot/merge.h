// Adds the workloads, records and models of another log to this one. The other log is verified from
// end to end first. A record is added once by its task_uid, so a second merge changes nothing.
// Thread-safe for different files.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::db {

struct MergeCounts {
  int64_t read = 0;
  int64_t added = 0;
};

// Runs in one transaction. DATA_LOSS or INVALID_ARGUMENT names a damaged or impossible record of
// `from`; ABORTED if another process writes `into`.
Result<MergeCounts> Merge(const std::string& into, const std::string& from);

}  // namespace mlc::db
