// The config of a workload that stays its winner while a log grows: each tuning takes the place of
// the winner before it only with a config that is faster beyond doubt. A function of what the log
// holds, not of the order in which its records were inserted. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "db/tuning_log.h"

namespace mlc::db {

// Another config is faster beyond doubt if its time is below this share of the winner's: a margin
// for the scatter between jobs, chosen and not measured.
inline constexpr double kBeyondDoubt = 0.95;

// Times in ns, as confirmed_times.h makes them comparable. False if one of them is not known.
inline bool IsFasterBeyondDoubt(double challenger_ns, double winner_ns) {
  return challenger_ns > 0 && winner_ns > 0 && challenger_ns < kBeyondDoubt * winner_ns;
}

using AcceptConfig = std::function<bool(const std::string& config)>;

// The record of the winner: its newest confirmation, else its fastest. Jobs count in the order of
// their first correct record (created_us, then job id). After each, times are those of all jobs so
// far, compared as in confirmed_best.h. Configs that `accept` refuses (none if it is empty) never
// win. Nothing without a correct record. Reads all correct records of the workload, in pages; of
// each job count the 64 fastest configs, and those that were confirmed.
Result<std::optional<Record>> KeptBest(const TuningLog& log, const Digest& workload,
                                       const std::string& target, const AcceptConfig& accept = {});

}  // namespace mlc::db
