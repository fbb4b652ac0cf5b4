// load_matrix, unpack and mma of an interpreted GPU kernel, with the fragments of the PTX ISA. Not
// thread-safe; borrows the state and the expressions.
#pragma once

#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_state.h"

namespace mlc::ir {

class GpuMatrices {
 public:
  GpuMatrices(GpuState& state, GpuExpressions& expressions)
      : state_(state), expressions_(expressions) {}

  void Do(const LoadMatrix& load);
  void Do(const Unpack& unpack);
  void Do(const Mma& mma);

 private:
  bool ReadRows(const LoadMatrix& load, size_t first, const Lane* index, int rows, Lane* values);
  // The operands' registers of each active thread.
  bool Operand(BufferId id, const ExprRef& index, Lane* values);

  GpuState& state_;
  GpuExpressions& expressions_;
};

}  // namespace mlc::ir
