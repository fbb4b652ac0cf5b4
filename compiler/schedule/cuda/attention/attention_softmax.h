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

  // Call it before the first scores.
  void Reset();
  // Turns scores into weights relative to the running maximum, and rescales sum and output.
  void Update();
  // Adds up the sums of the threads of a row. Call it after the last scores, then one of the
  // Normalize functions.
  void AddUp();
  // Divides the output by the sums.
  void Normalize();
  // As Normalize, but over the scores of all warps that share the rows, so that the sum of their
  // outputs is the result. `stats` is shared memory for two floats per row. First, every warp
  // stores its own floats there; `mine` is the thread's first row. After a barrier, each warp reads
  // those of all, from row `first` of the first such warp on.
  void ShareStats(ir::BufferId stats, const ir::ExprRef& mine);
  void NormalizeAcrossWarps(ir::BufferId stats, const ir::ExprRef& first);
  // As NormalizeAcrossWarps, but the result is not divided by the sums. Then, or of a warp alone
  // after AddUp, Maximum and Sum are those of the thread's rows; half is 0 or 1, 8 rows apart.
  void ScaleAcrossWarps(ir::BufferId stats, const ir::ExprRef& first);
  ir::ExprRef Maximum(int half) const;  // minus infinity if the row is masked
  ir::ExprRef Sum(int half) const;

 private:
  void FoldRows(ScalarOp op, ir::ExprRef values);
  void ShareRows(ScalarOp op, ir::BufferId values);
  ir::ExprRef Spread(ir::BufferId to, ir::BufferId values);
  void ScaleOutput(const ir::ExprRef& by);
  void JoinStats(ir::BufferId stats, const ir::ExprRef& first, bool divide);

  ir::KernelBuilder& builder_;
  const AttentionPlan& plan_;
  const AttentionFragments& fragments_;
  // For the thread's rows, 8 apart: maximum, sum, and their pending updates.
  const ir::BufferId top_, sum_, next_, factor_;
  const ir::BufferId spread_, scale_;  // a fragment each
};

}  // namespace mlc::schedule::gpu
