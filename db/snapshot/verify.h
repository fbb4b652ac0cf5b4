// Checks a log file from end to end: SQLite's structure, foreign keys, the key of every workload,
// the digest and rules of every record, the digest of every cost model. Reads only. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::db {

struct VerifyReport {
  int64_t workloads = 0;
  int64_t records = 0;
  // One line for each problem, at most kMaxProblems; empty for an intact log.
  std::vector<std::string> problems;
};
inline constexpr size_t kMaxProblems = 100;

Result<VerifyReport> VerifyLog(const std::string& path);

}  // namespace mlc::db
