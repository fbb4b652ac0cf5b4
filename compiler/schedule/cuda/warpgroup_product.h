// The products of a tensor-core kernel whose warpgroups multiply straight from block memory.
// Appends to a builder; not thread-safe; borrows everything it is given.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/tensor_plan.h"

namespace mlc::schedule {

class WarpgroupProduct {
 public:
  // `tiles`: the stages in block memory; `sums`: plan.row_tiles() * plan.column_tiles() registers.
  WarpgroupProduct(const TensorPlan& plan, ir::BufferId tiles, ir::BufferId sums,
                   ir::KernelBuilder& b)
      : plan_(plan), tiles_(tiles), sums_(sums), b_(b) {}

  // The warpgroup's first row and column in the tile.
  void Place(const ir::ExprRef& row, const ir::ExprRef& column);
  // Begins the products of the step in the stage at `stage` (elements).
  void Begin(const ir::ExprRef& stage);
  // Until only the products of the last `steps` are under way.
  void Wait(int steps) { b_.WaitProducts(steps * plan_.row_tiles()); }

 private:
  const TensorPlan& plan_;
  ir::BufferId tiles_, sums_;
  ir::KernelBuilder& b_;
  ir::ExprRef rows_at_, columns_at_;  // in a stage
};

}  // namespace mlc::schedule
