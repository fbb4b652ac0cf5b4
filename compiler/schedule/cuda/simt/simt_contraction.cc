#include "compiler/schedule/cuda/simt/simt_contraction.h"

#include <algorithm>

#include "compiler/schedule/cuda/simt/simt_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/problem/contraction_space.h"

namespace mlc::schedule {

namespace {

// How many blocks of a multiprocessor a launch leaves registers for.
int BlocksAtOnce(const GpuContraction& g, const target::Target& target, const SimtPlan& plan) {
  const int64_t wanted = plan.blocks(g) / std::max(1, target.gpu().sms);
  return static_cast<int>(
      std::clamp<int64_t>(wanted, 1, static_cast<int64_t>(BlocksPerSm(target, plan))));
}

}  // namespace

bool SimtContractionFamily::Accepts(const graph::Workload& workload,
                                    const target::Target& target) const {
  if (target.As<target::GpuTarget>() == nullptr) return false;
  const std::optional<GpuContraction> g = FindGpuContractionOrFloat8(workload);
  return g && !IsDepthwise(g->p);
}

std::optional<GpuContraction> SimtContractionFamily::Find(const graph::Workload& workload,
                                                          const target::Target&) const {
  return FindGpuContractionOrFloat8(workload);
}

Space SimtContractionFamily::MakeSpace(const graph::Workload&, const GpuContraction& g,
                                       const target::Target& target) const {
  Space space{"simt_contraction", version(), {}};
  const auto tiles = [](int64_t extent) {
    std::vector<int64_t> sizes = {16, 32, 64, 128};
    std::erase_if(sizes, [&](int64_t s) { return s > 16 && s / 2 >= extent; });
    return sizes;
  };
  space.knobs.push_back({"bm", tiles(g.m)});
  space.knobs.push_back({"bn", tiles(g.n)});
  space.knobs.push_back({"bk", {8, 16, 32}});
  space.knobs.push_back({"tm", {1, 2, 4, 8}});
  space.knobs.push_back({"tn", {4, 8}});
  std::vector<int64_t> splits = {1, 2, 4, 8, 16};
  std::erase_if(splits, [&](int64_t s) { return s > 1 && s * 64 > g.k; });
  AddClusters(target, g.k / 64, splits);
  const int64_t smallest = g.z * ((g.m + 127) / 128) * ((g.n + 127) / 128);
  if (smallest >= 2 * target.gpu().sms) splits = {1};
  space.knobs.push_back({"split", splits});
  return space;
}

RejectReason SimtContractionFamily::Check(const graph::Workload&, const GpuContraction& g,
                                          const target::Target& target,
                                          const Config& config) const {
  return CheckSimtPlan(g, target, MakeSimtPlan(g, config));
}

KernelFacts SimtContractionFamily::Facts(const graph::Workload& workload, const GpuContraction& g,
                                         const target::Target& target, const Config& config) const {
  return SimtFacts(workload, g, target, MakeSimtPlan(g, config));
}

Config SimtContractionFamily::Default(const graph::Workload& workload, const GpuContraction& g,
                                      const target::Target& target) const {
  return DefaultIn(workload, g, target, MakeSpace(workload, g, target));
}

Config SimtContractionFamily::DefaultIn(const graph::Workload&, const GpuContraction& g,
                                        const target::Target& target, const Space& part) const {
  const auto cycles = [&](const Config& config) -> std::optional<double> {
    if (SplitOf(config["split"]).cluster) return std::nullopt;
    const SimtPlan plan = MakeSimtPlan(g, config);
    if (CheckSimtPlan(g, target, plan) != RejectReason::kNone) return std::nullopt;
    // What spills comes last.
    const int left = gpu::RegistersLeft(plan.threads(), BlocksAtOnce(g, target, plan));
    return SimtCycles(g, target, plan) * (plan.registers() > left ? 1e6 : 1);
  };
  return gpu::Cheapest(part, cycles);
}

Result<LoweredKernel> SimtContractionFamily::Lower(const graph::Workload& workload,
                                                   const GpuContraction& g,
                                                   const target::Target& target,
                                                   const Config& config) const {
  SimtPlan plan = MakeSimtPlan(g, config);
  plan.per_sm = BlocksAtOnce(g, target, plan);
  return LowerSimt(workload, g, plan);
}

}  // namespace mlc::schedule
