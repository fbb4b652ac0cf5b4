// Totals of items that several blocks share: each block writes its part to memory, and the last one
// to arrive combines them. Not thread-safe; borrows its collaborators.
#pragma once

#include <functional>

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/row_reduce/row_group.h"
#include "compiler/schedule/cuda/row_reduce/row_plan.h"
#include "compiler/schedule/cuda/row_reduce/row_sweep.h"

namespace mlc::schedule::gpu {

class RowSplits {
 public:
  // Declares the parts and the counter of arrivals where the plan has splits.
  RowSplits(ir::KernelBuilder& builder, const RowPlan& plan, const RowSweep& sweep,
            RowGroup& group);

  // Sets register 0 of `total`, which holds the group's part, to op over the parts of all splits,
  // only in the block that arrives last. Does nothing if items are not split.
  void Share(ScalarOp op, ir::BufferId total);
  // Emits `body` in the blocks that hold totals.
  void WhereShared(const std::function<void()>& body);

 private:
  ir::KernelBuilder& builder_;
  const RowPlan& plan_;
  const RowSweep& sweep_;
  RowGroup& group_;
  const int width_;  // lanes of a total
  ir::BufferId parts_ = 0, arrived_ = 0;
  ir::ExprRef last_;
};

}  // namespace mlc::schedule::gpu
