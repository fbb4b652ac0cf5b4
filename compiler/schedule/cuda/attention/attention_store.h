// Stores attention's results from registers to the workload's outputs, through the fused epilogue.
// It skips elements outside the outputs. Not thread-safe.
#pragma once

#include <map>

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

class AttentionStore {
 public:
  // `fold`: four floats of this thread, which it may use during the store.
  AttentionStore(const graph::Workload& workload, ir::KernelBuilder& builder, Fused& fused,
                 const AttentionPlan& plan, ir::BufferId fold)
      : workload_(workload), builder_(builder), fused_(fused), plan_(plan), fold_(fold) {}

  // Call once in the launch. Reads the single numbers that results depend on.
  void Begin(const ir::ExprRef& batch, const ir::ExprRef& head);
  // Stores the two floats in `pair` as columns `column` and `column` + 1 of one row.
  void Pair(const ir::ExprRef& row, const ir::ExprRef& column, ir::BufferId pair);

 private:
  FusedValues::Bound With(const ir::ExprRef& result) const;

  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  Fused& fused_;
  const AttentionPlan& plan_;
  const ir::BufferId fold_;
  ir::ExprRef batch_, head_;
  std::map<graph::ValueId, ir::ExprRef> given_;
};

}  // namespace mlc::schedule::gpu
