// What benchmarks measure with: a clock in seconds, and the median of what it showed.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace mlc::bench {

// Of a steady clock; only differences mean something.
inline double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The upper one of the two in the middle. REQUIRES: at least one value.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace mlc::bench
