// The model's time during a job. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/confirmed_times.h"
#include "db/report/tuning_data.h"

namespace mlc::report {

struct CurvePoint {
  int64_t trial = 0;   // number among the job's trials, from 1; 0: before the first
  double seconds = 0;  // of tuning, without pauses
  double ns = 0;       // of the fastest variant
};

// Longer pauses of the job, for example between two calls of mlc-tune, count as this long.
inline constexpr double kLongestPauseSeconds = 300;

// A point for each own record, after one for the start. A task counts with the best config known so
// far, by the rule of db/confirmed_times.h: a confirmed time, or a single one multiplied by what
// confirmation costs in this log. Before the first one, it counts with the best of earlier jobs (of
// a fresh job: with the default config). Empty if a task of every variant has no time.
std::vector<CurvePoint> LatencyCurve(const TuningData& data);

// The best time of one task, updated with each record.
class BestSoFar {
 public:
  explicit BestSoFar(const std::vector<db::Record>& all);
  void Add(const db::Record& record);
  // The weighed time in ns; 0 if there is none.
  double ns() const { return best_ns_; }
  // The factor of single times; 1 if nothing was confirmed.
  double factor() const { return factor_; }

 private:
  double factor_ = 1;
  double best_ns_ = 0;
  std::string best_;
  std::unordered_map<std::string, db::ConfigTimes> configs_;
};

}  // namespace mlc::report
