// Which records stand for a workload when one is chosen. The fastest of many single times is in
// part measurement noise, so a search measures its leaders again side by side (the arm "verify"): a
// config that was confirmed counts with its newest confirmation alone, and one that was not counts
// as slower than it was measured (confirmed_times.h says by how much). Thread-safe.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "db/tuning_log.h"

namespace mlc::db {

// One record for each config, best first, at most `limit` of those that `accept` takes (all when
// empty). Looks at the fastest records alone: enough for every config that can win, and at all
// confirmations.
Result<std::vector<Record>> BestConfigs(const TuningLog& log, const Digest& workload,
                                        const std::string& target, int limit,
                                        const TuningLog::Accept& accept = {});

// The same, and how long it holds.
struct BestFound {
  std::vector<Record> records;
  // A later record that is no confirmation and has a longer time changes nothing. For callers that
  // keep the answer while the search goes on: most of its records are such.
  double holds_above_ns = std::numeric_limits<double>::infinity();
};
Result<BestFound> FindBestConfigs(const TuningLog& log, const Digest& workload,
                                  const std::string& target, int limit,
                                  const TuningLog::Accept& accept = {});

}  // namespace mlc::db
