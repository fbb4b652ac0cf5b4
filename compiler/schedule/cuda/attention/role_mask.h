// Numbers that are added to the scores of a warpgroup that attends (role_softmax.h), in the
// registers of its products: a mask that is a tensor, or that the workload computes. Not
// thread-safe.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/role_attention_plan.h"
#include "compiler/schedule/cuda/attention/role_softmax.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

class RoleMask {
 public:
  RoleMask(const graph::Workload& workload, const RoleAttentionPlan& plan,
           ir::KernelBuilder& builder, Fused& fused)
      : workload_(workload), plan_(plan), builder_(builder), fused_(fused) {}

  // To the scores of a head: of query `query` and the one 8 behind it, and of two keys of each 8
  // from `key` on. Queries behind the last one get any numbers.
  void Add(const RoleSoftmax& softmax, const ir::ExprRef& batch, const ir::ExprRef& head,
           const ir::ExprRef& query, const ir::ExprRef& key);

 private:
  void Load(const ir::ExprRef& batch, const ir::ExprRef& head, const ir::ExprRef& query,
            const ir::ExprRef& key, int half);

  const graph::Workload& workload_;
  const RoleAttentionPlan& plan_;
  ir::KernelBuilder& builder_;
  Fused& fused_;
  ir::BufferId added_ = 0;  // four floats of this thread, for two rows of two keys
};

}  // namespace mlc::schedule::gpu
