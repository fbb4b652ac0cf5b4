// The comparison of variants of a model. Pure; thread-safe.
#pragma once

namespace mlc::costmodel {

// True if a build prefers the later variant to the earlier one, by the sums of their kernel times.
// The later one must be 2 % faster, because these sums do not include the cost of launches.
constexpr bool PlainlyFaster(double later_ns, double earlier_ns) {
  return later_ns * 1.02 < earlier_ns;
}

}  // namespace mlc::costmodel
