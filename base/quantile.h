// Quantiles of samples. Pure; thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace mlc {

// Interpolated; q in [0, 1]. REQUIRES: sorted, not empty.
inline double Quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  // Unlike a weighted sum, lerp is monotonic and exact between equal samples.
  return std::lerp(sorted[below], sorted[above], part);
}

}  // namespace mlc
