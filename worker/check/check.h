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

// The largest admissible |difference| over the largest |reference|: the tolerance, but never less
// than a few roundings to the type, which every step of a fused kernel may make or leave out.
double ErrorBound(DType dtype, double tolerance);

// The tolerance of a workload's results. A workload computes as exactly as the narrowest type and
// precision in it. One of tolerance 0 admits no approximate algorithm, and still rounds: 1e-4.
double ToleranceOf(const graph::Workload& workload);

// `got` in the type's strides, `want` dense row-major. Floats agree within ErrorBound; infinities
// and NaN where the reference has them. Integers agree exactly, but eight-bit ones, which come from
// rounding, may differ by one in 1 % of the elements.
Comparison Compare(const graph::TensorType& type, const std::byte* got, const std::byte* want,
                   double tolerance);
// Memory that it takes meanwhile, at most.
int64_t ComparisonBytes(const graph::TensorType& type);

}  // namespace mlc::worker
