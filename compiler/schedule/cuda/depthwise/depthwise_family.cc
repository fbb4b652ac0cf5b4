#include "compiler/schedule/cuda/depthwise/depthwise_family.h"

#include <algorithm>
#include <string>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/depthwise/depthwise_lower.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

using graph::Workload;

namespace {

constexpr int64_t kMaxRegisters = 224;
// Multiply-adds of the straight-line code of one tile.
constexpr int64_t kMaxBody = 4096;

gpu::DepthwisePlan PlanOf(const gpu::DepthwiseProblem& problem, const Config& config) {
  return {problem, static_cast<int>(config["lanes"]), static_cast<int>(config["tw"]),
          static_cast<int>(config["th"]), static_cast<int>(config["threads"])};
}

RejectReason CheckPlan(const gpu::DepthwisePlan& plan) {
  const auto& axes = plan.problem.axes;
  if (plan.tile_w / 2 >= axes[2].out && plan.tile_w > 1) return RejectReason::kTileExceedsShape;
  if (plan.tile_h / 2 >= axes[1].out && plan.tile_h > 1) return RejectReason::kTileExceedsShape;
  if (plan.Registers() > kMaxRegisters && plan.tile_w * plan.tile_h * plan.lanes > 1) {
    return RejectReason::kRegisters;
  }
  const int64_t body = plan.problem.Taps() * plan.tile_h * plan.tile_w * plan.lanes;
  if (body > kMaxBody && plan.tile_w * plan.tile_h * plan.lanes > 1) {
    return RejectReason::kCodeSize;
  }
  return RejectReason::kNone;
}

}  // namespace

bool GpuDepthwiseFamily::Accepts(const Workload& workload, const target::Target& target) const {
  if (target.As<target::GpuTarget>() == nullptr) return false;
  const std::optional<ContractionProblem> p = FindContraction(workload);
  return p && IsDepthwise(*p) && p->Taps() <= kMaxBody;
}

std::optional<gpu::DepthwiseProblem> GpuDepthwiseFamily::Find(const Workload& workload,
                                                              const target::Target&) const {
  return gpu::FindDepthwise(workload);
}

Space GpuDepthwiseFamily::MakeSpace(const Workload&, const gpu::DepthwiseProblem& p,
                                    const target::Target&) const {
  Space space{std::string(name()), version(), {}};
  std::vector<int64_t> lanes;
  for (int64_t n = 1; n <= p.lanes; n *= 2) lanes.push_back(n);
  space.knobs.push_back({"lanes", lanes});
  space.knobs.push_back({"tw", {1, 2, 4, 7, 8}});
  space.knobs.push_back(
      {"th", p.axes[1].dim < 0 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2, 4}});
  space.knobs.push_back({"threads", {32, 64, 128, 256}});
  return space;
}

RejectReason GpuDepthwiseFamily::Check(const Workload&, const gpu::DepthwiseProblem& p,
                                       const target::Target&, const Config& config) const {
  return CheckPlan(PlanOf(p, config));
}

KernelFacts GpuDepthwiseFamily::Facts(const Workload& workload, const gpu::DepthwiseProblem& p,
                                      const target::Target& target, const Config& config) const {
  const gpu::DepthwisePlan plan = PlanOf(p, config);
  const auto& axes = plan.problem.axes;
  KernelFacts facts;
  const double tile = plan.tile_w * plan.tile_h;
  const double outputs = static_cast<double>(plan.problem.batch * plan.problem.channels *
                                             axes[0].out * axes[1].out * axes[2].out);
  const double taps = static_cast<double>(plan.problem.Taps());
  facts.useful_flops = 2 * outputs * taps;
  const double points = static_cast<double>(plan.Points());
  facts.lane_fill = outputs / (points * tile * plan.lanes);
  facts.flops = facts.useful_flops / facts.lane_fill;
  facts.accumulators = tile * plan.lanes;
  const double reads =
      static_cast<double>(axes[0].taps * axes[1].Span(plan.tile_h) * axes[2].Span(plan.tile_w));
  facts.loads_per_fma = reads / (tile * taps);
  facts.inner_trip = taps;
  const double size = SizeOf(workload.graph()[workload.operands()[0]].type.dtype);
  facts.l1_bytes = points * plan.lanes * (reads + taps) * size;
  facts.l2_bytes = facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.body_ops = taps * tile * plan.lanes;
  gpu::SetLaunch(target,
                 {static_cast<double>(CeilDiv(plan.Points(), plan.threads)),
                  static_cast<double>(plan.threads), 0, static_cast<double>(plan.Registers())},
                 facts);
  return facts;
}

Config GpuDepthwiseFamily::Default(const Workload& workload, const gpu::DepthwiseProblem& p,
                                   const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config best = space.At(0);
  const double size = SizeOf(workload.graph()[workload.operands()[0]].type.dtype);
  double best_score = -1;
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const Config config = space.At(rank);
    if (config["threads"] != 64 && config["threads"] != 128) continue;
    const gpu::DepthwisePlan plan = PlanOf(p, config);
    if (CheckPlan(plan) != RejectReason::kNone) continue;
    const KernelFacts facts = Facts(workload, p, target, config);
    // Threads enough for the device, then few reads for each product.
    const double threads = static_cast<double>(plan.Points());
    const double busy = std::min(1.0, threads / (256.0 * std::max(1, target.gpu().sms)));
    // Neighbouring threads should fill whole lines of the cache.
    const double wide = p.channels_inner ? std::min(1.0, 0.4 + plan.lanes * size / 12) : 1;
    const double score = facts.lane_fill * busy * wide / (0.3 + facts.loads_per_fma) /
                         (1 + static_cast<double>(plan.Registers()) / 256) /
                         (config["threads"] == 128 ? 1.0 : 1.01);
    if (score > best_score) {
      best_score = score;
      best = config;
    }
  }
  return best;
}

Result<LoweredKernel> GpuDepthwiseFamily::Lower(const Workload& workload,
                                                const gpu::DepthwiseProblem& p,
                                                const target::Target&, const Config& config) const {
  return gpu::LowerDepthwise(workload, PlanOf(p, config));
}

}  // namespace mlc::schedule
