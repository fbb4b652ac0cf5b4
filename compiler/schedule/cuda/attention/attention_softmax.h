// The online softmax of attention (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018): running maxima and sums of a warp's 16 rows of queries, with the output scaled
// to the maximum known so far. Not thread-safe.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/attention_fragments.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"

namespace mlc::schedule::gpu {

class AttentionSoftmax {
 public:
  AttentionSoftmax(ir::KernelBuilder& builder, const AttentionPlan& plan,
                   const AttentionFragments& fragments);

  // Before the first scores.
  void Reset();
  // Scores become weights relative to the running maximum; sum and output follow it.
  void Update();
  // Once no scores are left: the threads of a row add up their sums. Then one of both:
  void AddUp();
  // The output over the sums.
  void Normalize();
  // As Normalize, but over the scores of all warps that share the rows: their outputs then add up.
  // `stats` is shared memory for two floats a row. First every warp puts its own there, of which
  // `mine` is the thread's first row; then each takes those of all, from the row `first` of the
  // first such warp on.
  void ShareStats(ir::BufferId stats, const ir::ExprRef& mine);
  void NormalizeAcrossWarps(ir::BufferId stats, const ir::ExprRef& first);

 private:
  void FoldRows(ScalarOp op, ir::ExprRef values);
  void ShareRows(ScalarOp op, ir::BufferId values);
  ir::ExprRef Spread(ir::BufferId to, ir::BufferId values);
  void ScaleOutput(const ir::ExprRef& by);

  ir::KernelBuilder& builder_;
  const AttentionPlan& plan_;
  const AttentionFragments& fragments_;
  // Of the thread's rows, 8 apart: maximum, sum, and what is on its way into them.
  const ir::BufferId top_, sum_, next_, factor_;
  const ir::BufferId spread_, scale_;  // a fragment each
};

}  // namespace mlc::schedule::gpu
