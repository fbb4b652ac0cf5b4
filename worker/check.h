// Compares what a kernel wrote with the reference. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/graph/graph.h"

namespace mlc::worker {

struct Comparison {
  bool ok = true;
  double error = 0;    // largest |difference| over the largest |reference|
  std::string detail;  // the first wrong element
};

// `got` in the type's strides, `want` dense row-major. Floats agree within the tolerance, or a few
// units of a narrower type's last place; infinities and NaN where the reference has them. Integers
// agree exactly, but eight-bit ones, which come from rounding, may differ by one in 1 % of the
// elements.
Comparison Compare(const graph::TensorType& type, const std::byte* got, const std::byte* want,
                   double tolerance);

}  // namespace mlc::worker
