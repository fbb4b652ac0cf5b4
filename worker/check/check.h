// Compares what a kernel wrote with the reference. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/graph/workload.h"

namespace mlc::worker {

struct Comparison {
  bool ok = true;
  double error = 0;    // largest |difference| over the largest |reference|
  std::string detail;  // the first wrong element
};

// The largest admissible |difference| over the largest |reference|: the tolerance, but at least a
// few roundings of the type, because a fused kernel may omit or add the rounding of each step.
double ErrorBound(DType dtype, double tolerance);

// The tolerance of a workload's results: that of the narrowest type and precision in it. Tolerance
// 0 means that no approximate algorithm is allowed; rounding still differs, so the result is 1e-4.
double ToleranceOf(const graph::Workload& workload);

// Compares `got`, in the type's strides, with `want`, dense row-major. Floats must agree within
// ErrorBound; infinities and NaN must be where the reference has them. Integers must be equal,
// except that eight-bit integers, which come from rounding, may differ by one in 1 % of the
// elements.
Comparison Compare(const graph::TensorType& type, const std::byte* got, const std::byte* want,
                   double tolerance);
// The largest memory, in bytes, that Compare allocates.
int64_t ComparisonBytes(const graph::TensorType& type);

}  // namespace mlc::worker
