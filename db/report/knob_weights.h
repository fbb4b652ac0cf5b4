// The importance of knobs for the time of a task's configs. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/report/tuning_data.h"

namespace mlc::report {

struct KnobWeight {
  std::string name;
  int64_t chosen = 0;
  std::vector<int64_t> tried;  // values of correct records, ascending
  // The share of the variance of log time that the knob alone explains, 0 .. 1 (omega squared,
  // which does not favour knobs with many values). It depends on what was tried: a search tries
  // fast regions most.
  double weight = 0;
  // The fastest time with another value over the fastest with the chosen one; 0 if no other value
  // was tried.
  double without = 0;
};

// The knobs of the chosen config's family, in its order. Empty if there is no chosen config or it
// has no knobs.
std::vector<KnobWeight> WeighKnobs(const TaskData& task);

}  // namespace mlc::report
