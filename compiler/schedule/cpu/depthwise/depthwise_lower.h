// Emits the kernel of a depthwise plan. Thread-safe.
#pragma once

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

struct DepthwisePlan {
  int lanes = 16;
  int inner_rows = 1;
  int outer_rows = 1;
  int vectors = 1;
  bool rows_first = true;
  int64_t row_chunks = 1;
  int64_t channel_chunks = 1;

  int64_t channels = 1;
  int group_width = 1;  // channels that each output channel reads: a divisor of `lanes`
  int64_t blocks = 1;   // of `vectors` vectors of channels
  int64_t row_units = 1;

  int64_t width() const { return int64_t{vectors} * lanes; }
};

LoweredKernel LowerDepthwise(const graph::Workload& workload, const ContractionProblem& problem,
                             const DepthwisePlan& plan);

}  // namespace mlc::schedule
