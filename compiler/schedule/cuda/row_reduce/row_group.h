// The threads that reduce one item together: their places, and the combination of their values.
// Groups of up to a warp combine by shuffles, larger ones through shared memory as well. Vectors of
// columns, and values that are not 32 bits wide, combine through shared memory only. Not
// thread-safe.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/row_reduce/row_plan.h"

namespace mlc::schedule::gpu {

// The neutral element of `op`.
ir::ExprRef NeutralOf(ScalarOp op, DType dtype, int lanes);

class RowGroup {
 public:
  RowGroup(ir::KernelBuilder& builder, const RowPlan& plan);

  // Derives item and lane from the thread's number. Call it first in the launch.
  void SetThread(const ir::ExprRef& thread);
  const ir::ExprRef& item() const { return item_; }  // of the block
  const ir::ExprRef& lane() const { return lane_; }  // 0 .. group - 1

  // Register 0 of `value` becomes op over the group's values, the same in all its threads. All
  // threads of the block take part.
  void Combine(ScalarOp op, ir::BufferId value);

 private:
  void Shuffle(ScalarOp op, ir::BufferId value);
  void AcrossWarps(ScalarOp op, ir::BufferId value);
  void ThroughMemory(ScalarOp op, ir::BufferId value);

  ir::KernelBuilder& builder_;
  const RowPlan& plan_;
  bool shuffles_ = false;
  ir::BufferId memory_ = -1;
  int round_ = 0;
  ir::ExprRef thread_, item_, lane_;
};

}  // namespace mlc::schedule::gpu
