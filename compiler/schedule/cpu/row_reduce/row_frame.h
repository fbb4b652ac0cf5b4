// The state that all parts of a row reduction share: the problem with its decisions, the kernel
// under construction, and the current row. Not thread-safe; borrows its arguments; one object per
// kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/cpu/row_reduce/row_reduce_lower.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

// op(a) and op(a, b).
ir::ExprRef Do(ScalarOp op, ir::ExprRef a);
ir::ExprRef Do(ScalarOp op, ir::ExprRef a, ir::ExprRef b);

// One visited vector of a row: its coordinates, its accumulation chain, and its place in the row
// buffer.
struct Visit {
  Point point;
  ir::ExprRef chain;
  ir::ExprRef slot;
  ir::ExprRef half;  // half the column
};

struct RowFrame {
  RowFrame(const graph::Workload& workload, const RowProblem& problem, const RowKnobs& knobs);
  RowFrame(const RowFrame&) = delete;
  RowFrame& operator=(const RowFrame&) = delete;

  int64_t Width() const { return int64_t{chains} * lanes; }  // of a block
  int64_t Blocks() const;                                    // of kept columns, in a row
  // The number of elements that are reduced to one result, unless the row is cut into parts.
  double Count() const;
  ir::ExprRef Number(double value) const;
  ir::ExprRef Neutral(ScalarOp op) const;  // the neutral element

  const graph::Workload& workload;
  const RowProblem& problem;
  const RowKnobs& knobs;
  const graph::Value& node;
  ir::KernelBuilder builder;
  Fused fused;
  const int lanes;
  const int chains;
  const int64_t padded;  // columns, to whole vectors

  std::vector<ir::ExprRef> at;           // the row
  std::vector<ir::ExprRef> prefetch_at;  // the row that is prefetched
  std::vector<ir::ExprRef> previous_at;  // the row before
  ir::ExprRef part;                      // of the row
  ir::ExprRef column;                    // first column of the block, where columns are kept
  int used = 1;                          // vectors of the block
  int64_t tail = 0;                      // active lanes of its last vector; 0 for all
};

}  // namespace mlc::schedule
