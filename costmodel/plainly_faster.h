// Which variant of a model a build prefers. Pure; thread-safe.
#pragma once

namespace mlc::costmodel {

// Whether a later variant of a model is preferred to an earlier one, by the sums of their kernel
// times: it must be 2 % faster, because these sums leave out the cost of launches.
constexpr bool PlainlyFaster(double later_ns, double earlier_ns) {
  return later_ns * 1.02 < earlier_ns;
}

}  // namespace mlc::costmodel
