// Selects the records of a workload among which a config is chosen. The fastest of many single
// times is partly measurement noise, so a search measures its leaders again side by side (arm
// "verify"). A confirmed config counts with its newest confirmation only. An unconfirmed one counts
// as slower than it was measured; confirmed_times.h says by how much. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "db/tuning_log.h"

namespace mlc::db {

// Returns one record for each config, best first, at most `limit` of those that `accept` takes (all
// if it is empty). What it says must follow from the config alone: the best record of each is
// asked about. Later records than `up_to_id` count for nothing. Reads only the fastest records,
// which include every config that can win, and all confirmations.
Result<std::vector<Record>> BestConfigs(const TuningLog& log, const Digest& workload,
                                        const std::string& target, int limit,
                                        const TuningLog::Accept& accept = {},
                                        int64_t up_to_id = std::numeric_limits<int64_t>::max());

// The same, and which later records can change it.
struct BestFound {
  std::vector<Record> records;
  // A later record changes nothing if it is not a confirmation and has a longer time than this.
  // Callers that keep the answer during a search use it: most records of a search are such.
  double holds_above_ns = std::numeric_limits<double>::infinity();
};
Result<BestFound> FindBestConfigs(const TuningLog& log, const Digest& workload,
                                  const std::string& target, int limit,
                                  const TuningLog::Accept& accept = {},
                                  int64_t up_to_id = std::numeric_limits<int64_t>::max());

}  // namespace mlc::db
