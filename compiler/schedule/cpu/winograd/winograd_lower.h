// Emits the kernel of a Winograd plan. Thread-safe.
#pragma once

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

struct WinogradPlan {
  int lanes = 16;
  int m = 2;
  int rows = 1;  // of the register tile
  int vectors = 1;
  int unroll = 1;
  int64_t groups = 1;
  int64_t column_chunks = 1;

  int64_t tiles_high = 1;  // of one image
  int64_t tiles_wide = 1;
  int64_t group_tiles = 1;  // of the largest group
  int64_t panels = 1;
  int64_t row_stride = 0;  // of transformed inputs, elements

  int64_t width() const { return int64_t{vectors} * lanes; }
  int64_t frequencies() const { return int64_t{m + 2} * (m + 2); }
  int64_t tiles() const { return tiles_high * tiles_wide; }
  int64_t input_elements() const { return frequencies() * group_tiles * row_stride; }
  int64_t product_elements() const { return frequencies() * group_tiles * width(); }
};

LoweredKernel LowerWinograd(const graph::Workload& workload, const ContractionProblem& problem,
                            const WinogradPlan& plan);

}  // namespace mlc::schedule
