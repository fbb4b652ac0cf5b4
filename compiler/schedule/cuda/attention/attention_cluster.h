// Joins the results of the blocks of a cluster that share queries of attention and have each their
// part of the keys: each brings its output relative to its own maximum, with maxima and sums of the
// rows, and writes its share of the result. Not thread-safe.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/cuda/attention/attention_store.h"

namespace mlc::schedule::gpu {

class AttentionCluster {
 public:
  // REQUIRES: plan.split > 1.
  AttentionCluster(ir::KernelBuilder& builder, const AttentionPlan& plan, AttentionStore& store);

  // The maximum and the sum of a row of the block; its exponents are relative to the maximum, or to
  // 0 if that is minus infinity.
  void SetRow(const ir::ExprRef& row, const ir::ExprRef& maximum, const ir::ExprRef& sum);
  // Two floats of the block's output, which nothing has divided by the sum yet.
  void SetPair(const ir::ExprRef& row, const ir::ExprRef& column, const ir::ExprRef& pair);
  // Once rows and pairs are set: the block's share of the cluster's rows and columns, of which the
  // first are given. All threads call it.
  void Store(const ir::ExprRef& rank, const ir::ExprRef& thread, const ir::ExprRef& first_row,
             const ir::ExprRef& first_column);

 private:
  void Join(const ir::ExprRef& row, const ir::ExprRef& column);

  ir::KernelBuilder& builder_;
  const AttentionPlan& plan_;
  AttentionStore& store_;
  const ir::BufferId output_, rows_;                         // shared memory
  const ir::BufferId maxima_, sums_, outputs_, top_, pair_;  // of a thread; the first by rank
};

}  // namespace mlc::schedule::gpu
