// Which knobs decided how fast a task's configs were. Pure; thread-safe.
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
  // Of the variance of the logarithm of the time, what the knob alone accounts for, 0 .. 1 (omega
  // squared, which does not favour knobs with many values). What was tried decides it: a search
  // looks closely at what is fast.
  double weight = 0;
  // The fastest time with another value, over the fastest with the chosen one; 0 if none was tried.
  double without = 0;
};

// Of the chosen config's family, in its order. Empty if there is no chosen config or it has no
// knobs.
std::vector<KnobWeight> WeighKnobs(const TaskData& task);

}  // namespace mlc::report
