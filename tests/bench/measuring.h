// The median of what a benchmark measured.
#pragma once

#include <algorithm>
#include <vector>

namespace mlc::bench {

// The upper one of the two in the middle. REQUIRES: at least one value.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace mlc::bench
