#include "compiler/schedule/cuda/tensor/warpgroup_contraction.h"

#include <algorithm>

#include "compiler/schedule/cuda/tensor/tensor_facts.h"
#include "compiler/schedule/cuda/tensor/tensor_lower.h"
#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/cuda/tensor/warpgroup_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

namespace {

// Below, tiles are mostly padding.
constexpr int64_t kMinRows = 48;
constexpr int64_t kMinColumns = 24;
constexpr int64_t kMinDepth = 64;

}  // namespace

bool WarpgroupContractionFamily::Accepts(const graph::Workload& workload,
                                         const target::Target& target) const {
  const auto* gpu = target.As<target::GpuTarget>();
  if (gpu == nullptr || !gpu->HasWarpgroupMma()) return false;
  const std::optional<GpuContraction> g = FindGpuContraction(workload);
  if (!g || IsDepthwise(g->p) || !WarpgroupsMultiply(*g)) return false;
  return g->m >= kMinRows && g->n >= kMinColumns && g->k >= kMinDepth;
}

std::optional<GpuContraction> WarpgroupContractionFamily::Find(const graph::Workload& workload,
                                                               const target::Target&) const {
  return FindGpuContraction(workload);
}

Space WarpgroupContractionFamily::MakeSpace(const graph::Workload&, const GpuContraction& g,
                                            const target::Target& target) const {
  Space space{"warpgroup_contraction", version(), {}};
  space.knobs.push_back({"bm", FittingSizes({64, 128, 192, 256}, g.m)});
  space.knobs.push_back({"bn", FittingSizes({32, 64, 96, 128, 192, 256}, g.n)});
  space.knobs.push_back({"groups_m", {1, 2}});
  space.knobs.push_back({"groups_n", {1, 2}});
  TensorMath math;
  const bool thrice = TensorMathOf(g, &math) && math == TensorMath::kTf32x3;
  space.knobs.push_back(
      {"stages", thrice ? std::vector<int64_t>{3, 4, 6} : std::vector<int64_t>{2, 3, 4, 6}});
  space.knobs.push_back({"pending", thrice ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1}});
  std::vector<int64_t> splits = {1, 2, 3, 4, 6, 8};
  const int64_t smallest = g.z * ((g.m + 255) / 256) * ((g.n + 255) / 256);
  std::erase_if(splits, [&](int64_t s) {
    return s > 1 && (s * 128 > g.k || smallest >= 2 * target.gpu().sms);
  });
  space.knobs.push_back({"split", splits});
  const bool large = g.m >= 512 && g.n >= 512;
  space.knobs.push_back(
      {"raster", large ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0, 1}});
  return space;
}

RejectReason WarpgroupContractionFamily::Check(const graph::Workload&, const GpuContraction& g,
                                               const target::Target& target,
                                               const Config& config) const {
  return CheckWarpgroupPlan(g, target, MakeWarpgroupPlan(g, config));
}

KernelFacts WarpgroupContractionFamily::Facts(const graph::Workload& workload,
                                              const GpuContraction& g, const target::Target& target,
                                              const Config& config) const {
  return TensorFacts(workload, g, target, MakeWarpgroupPlan(g, config));
}

Config WarpgroupContractionFamily::Default(const graph::Workload& workload, const GpuContraction& g,
                                           const target::Target& target) const {
  return DefaultIn(workload, g, target, MakeSpace(workload, g, target));
}

Config WarpgroupContractionFamily::DefaultIn(const graph::Workload&, const GpuContraction& g,
                                             const target::Target& target,
                                             const Space& part) const {
  return gpu::Cheapest(part, [&](const Config& config) -> std::optional<double> {
    if (config["raster"] != 0) return std::nullopt;
    const TensorPlan plan = MakeWarpgroupPlan(g, config);
    if (CheckWarpgroupPlan(g, target, plan) != RejectReason::kNone) return std::nullopt;
    return TensorCycles(g, target, plan);
  });
}

Result<LoweredKernel> WarpgroupContractionFamily::Lower(const graph::Workload& workload,
                                                        const GpuContraction& g,
                                                        const target::Target& target,
                                                        const Config& config) const {
  TensorPlan plan = MakeWarpgroupPlan(g, config);
  plan.per_sm = ResidentBlocks(g, target, plan);
  return LowerTensor(workload, g, plan);
}

}  // namespace mlc::schedule
