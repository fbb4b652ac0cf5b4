// The role_attention family: long attention of f16 and bf16 on the matrix units of Hopper, by warps
// with roles. For heads of 64 or 128 columns whose rows lie in memory as they are. Tiles of keys
// that a causal mask hides are left out; other masks are added to the scores.
//
// Knobs: groups (warpgroups of 64 queries in a block), keys (of a tile), stages (tiles of keys and
// of values in shared memory), turns (groups begin their products one after the other, so that one
// multiplies while another is at its weights). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/attention/role_attention_plan.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class RoleAttentionFamily final : public FamilyOf<gpu::RoleAttentionPlan> {
 public:
  std::string_view name() const override { return "role_attention"; }
  int version() const override { return 3; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<gpu::RoleAttentionPlan> Find(const graph::Workload& workload,
                                             const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const gpu::RoleAttentionPlan& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const gpu::RoleAttentionPlan& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const gpu::RoleAttentionPlan& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const gpu::RoleAttentionPlan& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload,
                              const gpu::RoleAttentionPlan& problem, const target::Target& target,
                              const Config& config) const override;
};

}  // namespace mlc::schedule
