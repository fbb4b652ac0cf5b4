#include "compiler/schedule/cuda/attention/role_attention.h"

#include <algorithm>

#include "compiler/schedule/cuda/attention/role_attention_lower.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

using graph::Workload;

namespace {

constexpr int64_t kMinQueries = 48;  // below, tiles are mostly padding
constexpr int64_t kMinKeys = 64;

}  // namespace

bool RoleAttentionFamily::Accepts(const Workload& workload, const target::Target& target) const {
  const auto* gpu = target.As<target::GpuTarget>();
  if (gpu == nullptr || !gpu->HasWarpgroupMma()) return false;
  const std::optional<gpu::RoleAttentionPlan> plan = gpu::FindRoleAttention(workload);
  return plan && plan->problem.queries >= kMinQueries && plan->problem.keys >= kMinKeys;
}

std::optional<gpu::RoleAttentionPlan> RoleAttentionFamily::Find(const Workload& workload,
                                                                const target::Target&) const {
  return gpu::FindRoleAttention(workload);
}

Space RoleAttentionFamily::MakeSpace(const Workload&, const gpu::RoleAttentionPlan&,
                                     const target::Target&) const {
  Space space{std::string(name()), version(), {}};
  space.knobs.push_back({"groups", {1, 2, 3}});
  space.knobs.push_back({"keys", {64, 128, 192}});
  space.knobs.push_back({"stages", {2, 3, 4}});
  space.knobs.push_back({"turns", {0, 1}});
  return space;
}

RejectReason RoleAttentionFamily::Check(const Workload&, const gpu::RoleAttentionPlan& problem,
                                        const target::Target& target, const Config& config) const {
  return CheckRoleAttention(WithKnobs(problem, target, config), target);
}

KernelFacts RoleAttentionFamily::Facts(const Workload& workload,
                                       const gpu::RoleAttentionPlan& problem,
                                       const target::Target& target, const Config& config) const {
  const gpu::RoleAttentionPlan plan = WithKnobs(problem, target, config);
  const AttentionProblem& p = plan.problem;
  const auto columns = static_cast<double>(p.depth + p.width);
  const auto blocks = static_cast<double>(plan.blocks), tiles = static_cast<double>(plan.tiles());
  KernelFacts facts;
  const double keys = MeanKeys(plan), rows = tiles * static_cast<double>(plan.rows());
  facts.useful_flops = workload.Flops();
  facts.flops = facts.tensor_flops = 2 * rows * keys * columns;
  facts.lane_fill = std::min(1.0, p.Flops() / facts.flops);
  facts.accumulators = static_cast<double>(plan.score_tiles());
  facts.inner_trip = static_cast<double>(p.depth) / 16;
  facts.l2_bytes = (tiles * keys + rows) * columns * 2;
  facts.l1_bytes = facts.l2_bytes * plan.groups;
  facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.pipeline_steps = keys / plan.key_block * static_cast<double>(plan.rounds());
  facts.body_ops = static_cast<double>(plan.score_tiles() * 16);
  gpu::SetLaunch(target,
                 {blocks, static_cast<double>(plan.threads()),
                  static_cast<double>(plan.block_bytes()), static_cast<double>(plan.registers())},
                 facts);
  facts.parallel_chunks = tiles;
  facts.cycles = RoleAttentionCycles(plan, target);
  return facts;
}

Config RoleAttentionFamily::Default(const Workload& workload, const gpu::RoleAttentionPlan& problem,
                                    const target::Target& target) const {
  return gpu::Cheapest(MakeSpace(workload, problem, target),
                       [&](const Config& config) -> std::optional<double> {
                         const gpu::RoleAttentionPlan plan = WithKnobs(problem, target, config);
                         if (CheckRoleAttention(plan, target) != RejectReason::kNone) {
                           return std::nullopt;
                         }
                         return RoleAttentionCycles(plan, target);
                       });
}

Result<LoweredKernel> RoleAttentionFamily::Lower(const Workload& workload,
                                                 const gpu::RoleAttentionPlan& problem,
                                                 const target::Target& target,
                                                 const Config& config) const {
  return gpu::LowerRoleAttention(workload, WithKnobs(problem, target, config));
}

}  // namespace mlc::schedule
