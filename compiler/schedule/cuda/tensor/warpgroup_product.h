// The products of a tensor-core kernel whose warpgroups multiply straight from shared memory; in
// three passes, rows come from registers, where both parts of them are made. Appends to a builder;
// not thread-safe; borrows everything it is given.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/tensor/tensor_operand.h"
#include "compiler/schedule/cuda/tensor/tensor_plan.h"

namespace mlc::schedule {

class WarpgroupProduct {
 public:
  // `tiles`: the stages in shared memory; `sums`: plan.row_tiles() * plan.column_tiles() registers.
  // Declares registers where the plan splits rows.
  WarpgroupProduct(const TensorPlan& plan, ir::BufferId tiles, ir::BufferId sums,
                   ir::KernelBuilder& b);

  // The warpgroup's first row and column in the tile.
  void Place(const ir::ExprRef& row, const ir::ExprRef& column);
  // Begins the products of the step in the stage at `stage` (elements).
  void Begin(const ir::ExprRef& stage);
  // Until only the products of the last `steps` are under way.
  void Wait(int steps) { b_.WaitProducts(steps * plan_.row_tiles()); }

  // Three passes. REQUIRES: plan.splits_rows().
  // Makes both parts of the rows' fragments of a step, whose registers are free afterwards.
  void Split(const TensorOperand& rows);
  // Begins the products of the parts with the columns of the stage at `stage`.
  void BeginThrice(const ir::ExprRef& stage);
  // Ends them and adds them to the sums.
  void EndThrice();

 private:
  const TensorPlan& plan_;
  ir::BufferId tiles_, sums_;
  ir::BufferId high_ = 0, low_ = 0, apart_ = 0;
  ir::KernelBuilder& b_;
  ir::ExprRef rows_at_, columns_at_;  // in a stage
};

}  // namespace mlc::schedule
