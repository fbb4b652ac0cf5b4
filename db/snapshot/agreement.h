// Whether the times of another log can stand beside those of this one: how they compare where both
// measured the same config of the same workload. Thread-safe; reads the logs only.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "db/tuning_log.h"

namespace mlc::db {

// Of one target.
struct Agreement {
  int64_t common = 0;  // configs that both logs measured, of a sample of workloads
  double ratio = 0;    // median of their times over ours; 0: nothing in common
  double near = 0;     // share of the configs whose ratio is within 15 % of that median

  // At least 8 configs in common, times within 10 % in the middle, and 80 % of them near it.
  bool IsEnough() const;
};

// Looks at the newest 4,096 workloads of the other log and the 64 fastest configs of each, until
// 256 workloads have some in common. So its time and memory do not grow with the logs.
Result<Agreement> AgreementOf(const TuningLog& own, const TuningLog& other,
                              const std::string& target);

}  // namespace mlc::db
