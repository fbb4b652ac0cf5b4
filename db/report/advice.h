// Advises which tasks are worth more tuning. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "db/report/tuning_data.h"

namespace mlc::report {

struct Advice {
  int64_t trials = 0;     // records of the task
  int64_t last_gain = 0;  // the last one that reduced the best time by 1 % or more; 0: none
  // The share of the model's time that would be saved if the task ran at its roofline; its whole
  // share if the roofline is unknown.
  double headroom = 0;
  std::string verdict;  // one sentence
};
Advice AdviceOf(const TuningData& data, const TaskData& task);

}  // namespace mlc::report
