#include "compiler/schedule/cuda/tensor/role_contraction.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/cuda/tensor/role_lower.h"
#include "compiler/schedule/cuda/tensor/role_plan.h"
#include "compiler/schedule/cuda/tensor/role_registers.h"
#include "compiler/schedule/cuda/tensor/tensor_facts.h"
#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

namespace {

// Below, tiles and steps are mostly padding.
constexpr int64_t kMinRows = 48;
constexpr int64_t kMinColumns = 32;
constexpr int64_t kMinDepth = 64;

// A step of the unit is a block of those that have scales, and eight columns have one.
constexpr int64_t kBlock = 128;
constexpr int64_t kColumnsAtOnce = 8;

bool ScalesFit(const ScaledBlocks& blocks) {
  return blocks.block == 0 || (blocks.block == kBlock && blocks.across % kColumnsAtOnce == 0);
}

std::optional<GpuContraction> FindRoles(const graph::Workload& workload) {
  std::optional<GpuContraction> g = FindGpuContractionOrFloat8(workload);
  if (g && !ScalesFit(g->p.blocks)) return std::nullopt;
  if (!g) g = FindGpuContractionOrBytes(workload);
  return g && !IsDepthwise(g->p) && RolesMultiply(*g) ? g : std::nullopt;
}

}  // namespace

bool RoleContractionFamily::Accepts(const graph::Workload& workload,
                                    const target::Target& target) const {
  const auto* gpu = target.As<target::GpuTarget>();
  if (gpu == nullptr || !gpu->HasWarpgroupMma()) return false;
  const std::optional<GpuContraction> g = FindRoles(workload);
  return g && g->m >= kMinRows && g->n >= kMinColumns && g->k >= kMinDepth;
}

std::optional<RoleProblem> RoleContractionFamily::Find(const graph::Workload& workload,
                                                       const target::Target&) const {
  const std::optional<GpuContraction> g = FindRoles(workload);
  if (!g) return std::nullopt;
  return RoleProblemOf(workload, *g);
}

Space RoleContractionFamily::MakeSpace(const graph::Workload&, const RoleProblem& problem,
                                       const target::Target& target) const {
  const GpuContraction& g = problem.g;
  Space space{"role_contraction", version(), {}};
  space.knobs.push_back({"bm", FittingSizes({64, 128, 192, 256}, g.m)});
  space.knobs.push_back(
      {"bn", FittingSizes({32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 256}, g.n)});
  space.knobs.push_back({"groups", {1, 2, 3}});
  space.knobs.push_back({"alternate", {0, 1}});
  space.knobs.push_back({"stages", {3, 4, 5, 6, 8}});
  space.knobs.push_back({"pending", {0, 1}});
  space.knobs.push_back({"band", {0, -1, 4, 8, 16}});
  std::vector<int64_t> splits = {1, 2, 3, 4, 6, 8};
  const int64_t smallest = ((g.m + 127) / 128) * ((g.n + 127) / 128);
  std::erase_if(splits, [&](int64_t s) {
    return s > 1 && (s * 256 > g.k || smallest * s > 2 * target.gpu().sms);
  });
  space.knobs.push_back({"split", splits});
  const bool carried = problem.results.narrow && g.n % kRoleChunk == 0;
  space.knobs.push_back(
      {"storers", carried ? std::vector<int64_t>{0, 2} : std::vector<int64_t>{0}});
  const bool scaled = g.p.blocks.block > 0;
  if (g.p.of_float8) {
    space.knobs.push_back({"apart", scaled ? std::vector<int64_t>{1} : std::vector<int64_t>{0, 1}});
  }
  if (problem.shares_taps) space.knobs.push_back({"reuse", {0, 1}});
  const int64_t m_tiles = (g.m + 63) / 64, n_tiles = (g.n + kMinColumns - 1) / kMinColumns;
  std::vector<int64_t> clusters = {1};
  if (m_tiles > 1) clusters.push_back(2);
  if (n_tiles > 1) clusters.push_back(-2);
  space.knobs.push_back({"cluster", clusters});
  return space;
}

RejectReason RoleContractionFamily::Check(const graph::Workload&, const RoleProblem& problem,
                                          const target::Target& target,
                                          const Config& config) const {
  return CheckRolePlan(problem, target, MakeRolePlan(problem, target, config));
}

KernelFacts RoleContractionFamily::Facts(const graph::Workload& workload,
                                         const RoleProblem& problem, const target::Target& target,
                                         const Config& config) const {
  const RolePlan plan = MakeRolePlan(problem, target, config);
  KernelFacts facts = TensorFacts(workload, problem.g, target, plan.tensor);
  const auto sms = static_cast<double>(std::max(1, target.gpu().sms));
  const auto tiles = static_cast<double>(plan.tiles() * plan.split());
  facts.cycles = RoleCycles(target, plan);
  facts.parallel_chunks = tiles;
  facts.imbalance = std::max(1.0, static_cast<double>(plan.rounds()) * sms / tiles);
  facts.l2_bytes *= plan.read_share();
  facts.blocks = static_cast<double>(plan.blocks);
  facts.block_threads = plan.threads();
  facts.block_bytes = static_cast<double>(plan.block_bytes());
  facts.registers = SumRegisters(plan);
  facts.waves = facts.blocks / sms;
  facts.warp_parallelism = std::min(1.0, facts.waves) * plan.warps();
  facts.pipeline_steps = static_cast<double>(plan.tensor.split_steps * plan.rounds());
  return facts;
}

Config RoleContractionFamily::Default(const graph::Workload& workload, const RoleProblem& problem,
                                      const target::Target& target) const {
  return DefaultIn(workload, problem, target, MakeSpace(workload, problem, target));
}

Config RoleContractionFamily::DefaultIn(const graph::Workload&, const RoleProblem& problem,
                                        const target::Target& target, const Space& part) const {
  // Clusters make up for their barriers in few products (docs/benchmarks/gpu-wgmma.md), tiles of
  // odd widths for their narrow results, and the estimate does not say in which: only a search,
  // which measures, takes them.
  Space space = part;
  space.knobs.back().domain = {1};
  std::vector<int64_t>& widths = space.knobs[1].domain;
  if (widths.size() > 1) std::erase_if(widths, [](int64_t n) { return n % 32 != 0; });
  return gpu::Cheapest(space, [&](const Config& config) -> std::optional<double> {
    const RolePlan plan = MakeRolePlan(problem, target, config);
    // What places offered ahead gain has not been measured, nor what storers of four bytes do
    // without another tensor: that is left to searches, too.
    if (OffersAhead(plan)) return std::nullopt;
    if (plan.storers > 0 && plan.results.wide() && !plan.guest) return std::nullopt;
    if (CheckRolePlan(problem, target, plan) != RejectReason::kNone) {
      return std::nullopt;
    }
    return RoleCycles(target, plan);
  });
}

Result<LoweredKernel> RoleContractionFamily::Lower(const graph::Workload& workload,
                                                   const RoleProblem& problem,
                                                   const target::Target& target,
                                                   const Config& config) const {
  return LowerRoles(workload, problem, MakeRolePlan(problem, target, config));
}

}  // namespace mlc::schedule
