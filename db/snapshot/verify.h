// Checks a log file from end to end: SQLite's own structure, foreign keys, every workload's key,
// every record's digest and rules, every cost model's digest. Reads only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::db {

struct VerifyReport {
  int64_t workloads = 0;
  int64_t records = 0;
  // One line each, at most kMaxProblems; empty for a sound log.
  std::vector<std::string> problems;
};
inline constexpr size_t kMaxProblems = 100;

Result<VerifyReport> VerifyLog(const std::string& path);

}  // namespace mlc::db
