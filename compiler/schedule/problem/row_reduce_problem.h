// The problem of a row reduction, derived from the workload: one softmax, log-softmax, layer norm
// or reduction, with fused pointwise prologues and epilogues. A row is one point of the kept
// dimensions. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

struct RowProblem {
  graph::ValueId anchor = 0;
  graph::ValueId x = 0;       // the reduced value; emitted from sources
  std::vector<int64_t> dims;  // of x
  std::vector<int> reduced;   // reduced dimensions but `column`, by falling stride
  std::vector<int> kept;      // kept dimensions but `column`
  int column = -1;            // the vectorised dimension, or -1 if x has none to walk
  bool inner = true;          // `column` is reduced: lanes are partial results of one row
  int lanes = 1;              // 1 if no vector can be formed
  DType dtype = DType::kF32;  // of the arithmetic
  bool needs_x = false;       // an output also reads x
  bool computed = false;      // x is more than a load
  bool plain = false;      // x is in memory in the order of the walk, so reading it again is a load
  bool same_space = true;  // outputs have x's dims (all but kReduce)

  std::vector<graph::ValueId> streams;  // inputs of x's own dims, read once each

  int64_t Rows() const;     // points of `kept`
  int64_t Reduced() const;  // points of `reduced`
  int64_t Columns() const;  // size of `column`, or 1
  int64_t Elements() const { return Rows() * Reduced() * Columns(); }
};

std::optional<RowProblem> FindRowProblem(const graph::Workload& workload,
                                         const target::Target& target);
// The same with vectors of `lanes`, if such vectors can be formed.
std::optional<RowProblem> FindRowProblem(const graph::Workload& workload, int lanes);

}  // namespace mlc::schedule
