// Adds the workloads, records and models of another log to this one. The other log is verified from
// end to end first. A record is added once by its task_uid, so a second merge changes nothing.
// Thread-safe for different files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/snapshot/agreement.h"

namespace mlc::db {

// Whose records are taken.
enum class Trust : uint8_t {
  kAll,
  // Those of targets on which the other log's times agree with ours: see Agreement. A log from
  // elsewhere may have machines that are called the same and are not, or that were busy.
  kAgreeing,
};

// What became of one target of the other log under Trust::kAgreeing.
struct MergedTarget {
  std::string target;
  Agreement agreement;
  bool taken = false;
};

struct MergeCounts {
  int64_t read = 0;
  int64_t added = 0;
  std::vector<MergedTarget> targets;  // empty under Trust::kAll
};

// Runs in one transaction, in memory that does not grow with the logs. DATA_LOSS or
// INVALID_ARGUMENT names a damaged or impossible record of `from`; ABORTED if another process
// writes `into`.
Result<MergeCounts> Merge(const std::string& into, const std::string& from,
                          Trust trust = Trust::kAll);

}  // namespace mlc::db
