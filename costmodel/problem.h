// A workload as a few numbers that the features of all its kernels share. A value.
#pragma once

#include "compiler/graph/workload.h"

namespace mlc::costmodel {

struct Problem {
  graph::Op anchor = graph::Op::kPointwise;  // the node with the most work
  DType dtype = DType::kF32;                 // of its operands
  double flops = 0;
  double min_bytes = 0;
  double batches = 1;  // independent products, or 1
  double rows = 1;     // output pixels; all elements but the last dimension's
  double columns = 1;  // output channels; the last dimension
  double depth = 1;    // reduced elements of one tap
  double taps = 1;
  double stride = 1;
  double fused = 0;  // pointwise nodes
  double operands = 0;
};

Problem DescribeProblem(const graph::Workload& workload);

// Distance of two problems in doublings of their sizes, 0 for equal ones; infinite if they are of
// different kinds.
double Distance(const Problem& a, const Problem& b);

}  // namespace mlc::costmodel
