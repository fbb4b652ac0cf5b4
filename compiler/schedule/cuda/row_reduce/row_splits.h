// Totals of items that several blocks share: each block leaves its part in memory, and the one that
// arrives last joins them. Not thread-safe; borrows its collaborators.
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

  // Register 0 of `total`, the group's part, becomes op over the parts of all splits, in the block
  // that comes last alone. Nothing to do where no item is split.
  void Share(ScalarOp op, ir::BufferId total);
  // What the totals are for: `body` in the blocks that hold them.
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
