// What would be worth tuning further. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "db/report/tuning_data.h"

namespace mlc::report {

struct Advice {
  int64_t trials = 0;     // records of the task
  int64_t last_gain = 0;  // which of them last made the best time shorter by 1 % or more; 0: none
  // Of the model's time, what would be saved if the task ran at its roofline; all of its time if
  // that is unknown.
  double headroom = 0;
  std::string verdict;  // one sentence
};
Advice AdviceOf(const TuningData& data, const TaskData& task);

}  // namespace mlc::report
