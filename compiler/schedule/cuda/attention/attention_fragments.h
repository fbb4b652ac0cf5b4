// The two products of attention on a warp's matrix unit: scores = q k^T and output += p v, with q,
// k and v in shared memory and p in the fragments of the scores. f16 and bf16 as they are; f32 as
// tf32 in one or three passes. Not thread-safe.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"

namespace mlc::schedule::gpu {

class AttentionFragments {
 public:
  AttentionFragments(ir::KernelBuilder& builder, const AttentionPlan& plan, ir::BufferId q,
                     ir::BufferId k, ir::BufferId v);

  // Call once in the launch: the thread's number in its warp, the warp's first row of queries.
  void Begin(const ir::ExprRef& lane, const ir::ExprRef& first_row);
  // Queries into registers, once they are in shared memory.
  void LoadQueries();
  // Scores of the 16 queries with the key_block keys whose first element is at `keys`.
  void Scores(const ir::ExprRef& keys);
  // Adds to the output, from the weights in scores(); `values` is the first value's element.
  void Output(const ir::ExprRef& values);

  // Registers of 4 lanes, one for 8 columns: lanes 0 and 1 belong to row group(), columns pair()
  // and pair() + 1; lanes 2 and 3 to row group() + 8.
  ir::BufferId scores() const { return scores_; }
  ir::BufferId output() const { return output_; }
  int64_t score_tiles() const { return plan_.key_block / 8; }
  int64_t output_tiles() const { return plan_.slice() / 8; }
  const ir::ExprRef& group() const { return group_; }
  const ir::ExprRef& pair() const { return pair_; }
  // Four floats of this thread, for splitting and joining lanes.
  ir::BufferId fold() const { return fold_; }

 private:
  void NarrowScores(const ir::ExprRef& keys);
  void NarrowOutput(const ir::ExprRef& values);
  void WideScores(const ir::ExprRef& keys);
  void WideOutput(const ir::ExprRef& values);
  // raw -> high (and low) parts, and their products.
  void Split(ir::BufferId raw, ir::BufferId high, ir::BufferId low);
  void Multiply(ir::BufferId c, const ir::ExprRef& index);

  ir::KernelBuilder& builder_;
  const AttentionPlan& plan_;
  const ir::BufferId q_, k_, v_;
  ir::BufferId queries_ = 0, scores_ = 0, output_ = 0, fold_ = 0, weights_ = 0;
  ir::BufferId a_ = 0, a_high_ = 0, a_low_ = 0, b_ = 0, b_high_ = 0, b_low_ = 0;
  ir::BufferId step_ = 0;
  ir::ExprRef group_, pair_, quad_, q_at_, k_at_, v_at_;
};

}  // namespace mlc::schedule::gpu
