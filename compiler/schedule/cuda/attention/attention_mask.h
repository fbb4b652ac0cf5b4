// The mask of attention's scores in the registers of their fragments (gpu_attention). Appends to a
// builder; not thread-safe; borrows its arguments.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

class AttentionMask {
 public:
  // `fold`: four floats of this thread, which it may use. Declares registers if the mask can be
  // read before the scores are computed: a warp has one step of keys, and few of them.
  AttentionMask(const graph::Workload& workload, ir::KernelBuilder& builder, Fused& fused,
                const AttentionPlan& plan, ir::BufferId fold);

  // `row`: of the first scores of the thread.
  void Begin(const ir::ExprRef& batch, const ir::ExprRef& head, const ir::ExprRef& row);
  bool IsAhead() const { return ahead_ >= 0; }
  // Reads what the only step needs, whose keys of this thread begin there. REQUIRES: IsAhead().
  void Read(const ir::ExprRef& first_key);
  // The mask of the four scores of a tile, the n-th of its step, whose first key is `key`.
  ir::ExprRef At(int64_t n, const ir::ExprRef& key);

 private:
  void Load(const ir::ExprRef& key);

  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  Fused& fused_;
  const AttentionPlan& plan_;
  const graph::ValueId mask_;
  const ir::BufferId fold_;
  ir::BufferId ahead_ = -1;
  ir::ExprRef batch_, head_, row_;
};

}  // namespace mlc::schedule::gpu
