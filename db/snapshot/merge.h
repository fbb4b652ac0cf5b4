// Brings the workloads, records and models of another log into this one. Records are taken once by
// task_uid, so merging again changes nothing; the other log is verified first, from end to end.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::db {

struct MergeCounts {
  int64_t read = 0;
  int64_t added = 0;
};

// One transaction: all or nothing. DATA_LOSS or INVALID_ARGUMENT names a damaged or impossible
// record of `from`; ABORTED if another process writes `into`.
Result<MergeCounts> Merge(const std::string& into, const std::string& from);

}  // namespace mlc::db
