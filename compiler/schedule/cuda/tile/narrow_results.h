// Results of one or two bytes, and of four bytes of operands as wide, which may lie in shared
// memory as results on their way from the fragments of a contraction to global memory. Pure
// functions; thread-safe.
#pragma once

#include <optional>

#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

struct GpuContraction;

struct NarrowResults {
  // One output, or the value of two bytes that becomes float8 on the way out, whose runs of columns
  // are neighbours, and which needs no more than values of its columns and `guest`.
  bool narrow = false;
  graph::ValueId held = graph::kNoValue;  // that output or value
  int bytes = 2;                          // of a result, while it is held
  // An operand of the same type and shape as what is held (a residual, a gate).
  std::optional<int> guest;

  int lanes() const { return 16 / bytes; }  // of a piece of 16 bytes
  bool wide() const { return bytes == 4; }
};

NarrowResults NarrowResultsOf(const graph::Workload& workload, const GpuContraction& g);

}  // namespace mlc::schedule
