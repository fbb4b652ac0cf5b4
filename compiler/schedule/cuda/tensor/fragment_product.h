// The products of a tensor-core kernel whose warps multiply fragments in registers. Appends to a
// builder; not thread-safe; borrows everything it is given.
#pragma once

#include "compiler/schedule/cuda/tensor/tensor_operand.h"

namespace mlc::schedule {

class FragmentProduct {
 public:
  // `sums`: plan.row_tiles() * plan.column_tiles() registers. Declares registers.
  FragmentProduct(const TensorPlan& plan, ir::BufferId sums, ir::KernelBuilder& b);

  // Adds the products of the unit whose fragments are in a register set.
  void Multiply(TensorOperand& rows, TensorOperand& columns, int set);

 private:
  int GroupTiles() const { return plan_.row_group() * plan_.column_tiles(); }
  void MultiplyThrice(TensorOperand& rows, TensorOperand& columns, int set);
  void AddApart(int first_row);

  const TensorPlan& plan_;
  ir::BufferId sums_, apart_ = 0;
  ir::KernelBuilder& b_;
};

}  // namespace mlc::schedule
