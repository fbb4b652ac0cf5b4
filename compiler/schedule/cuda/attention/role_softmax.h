// The online softmax of a warpgroup that attends (attention_softmax.h), in the registers of its
// products: scores are not scaled before their maximum is known, and weights are powers of two.
// Not thread-safe.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/role_attention_plan.h"

namespace mlc::schedule::gpu {

class RoleSoftmax {
 public:
  RoleSoftmax(ir::KernelBuilder& builder, const RoleAttentionPlan& plan);

  // Call it where the thread's row of its group's tile, 0 to 63, and first column of 8 are known.
  void Begin(const ir::ExprRef& row, const ir::ExprRef& pair) {
    row_ = row;
    pair_ = pair;
  }
  // Before the first scores of a tile of queries.
  void Reset();
  // Hides what the queries from `query` on do not see of the keys from `first` on, of which those
  // before `fresh` were in another tile.
  void Mask(const ir::ExprRef& query, const ir::ExprRef& first, const ir::ExprRef& fresh);
  // Turns scores into weights relative to the running maximum, with the sum rescaled.
  void Update(bool first_scores);
  // Weights as operands of the next product. Their registers are free.
  void PutWeights();
  // Brings the output to the maximum of the last update.
  void ScaleOutput();
  // Factor(half) from then on: the reciprocal of the sum of row 8 * half.
  void AddUp();
  ir::ExprRef Factor(int half) const { return builder_.Get(factor_, ir::Int(half)); }

  // 4 lanes, one for 8 columns: lanes 0 and 1 of the thread's row, lanes 2 and 3 eight below.
  ir::BufferId scores() const { return scores_; }
  ir::BufferId weights() const { return weights_; }
  ir::BufferId output() const { return output_; }
  ir::BufferId fold() const { return fold_; }  // four floats of this thread

 private:
  ir::ExprRef FoldScores(ScalarOp op);
  void ShareRows(ScalarOp op, ir::BufferId values);
  ir::ExprRef Spread(ir::BufferId values);

  ir::KernelBuilder& builder_;
  const RoleAttentionPlan& plan_;
  const ir::BufferId scores_, weights_, output_, fold_;
  // For the thread's rows, 8 apart: maximum, sum, and their pending updates.
  const ir::BufferId top_, sum_, next_, factor_, shift_;
  const ir::BufferId part_, spread_;  // fragments: two, and one
  ir::ExprRef row_, pair_;
};

}  // namespace mlc::schedule::gpu
