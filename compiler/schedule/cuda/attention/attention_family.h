// The attention family for GPUs: softmax(scale * q k^T + mask) v with keys and values in shared
// memory and both products on matrix units, operands at any strides and with fused pointwise
// prologues and epilogues. f32 is computed as tf32, in three passes unless the workload asks for
// less.
//
// Knobs: warps (of a block), kwarps (of them, those that share 16 queries, each with its part of
// the keys), block (keys of a step), chunk (keys in shared memory at once; 0: all), stages (chunks
// in shared memory), split (blocks of a cluster that share queries, each with its part of the
// chunks; for few queries and many keys). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class GpuAttentionFamily final : public FamilyOf<gpu::AttentionPlan> {
 public:
  std::string_view name() const override { return "gpu_attention"; }
  int version() const override { return 4; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<gpu::AttentionPlan> Find(const graph::Workload& workload,
                                         const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const gpu::AttentionPlan& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const gpu::AttentionPlan& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const gpu::AttentionPlan& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const gpu::AttentionPlan& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const gpu::AttentionPlan& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
