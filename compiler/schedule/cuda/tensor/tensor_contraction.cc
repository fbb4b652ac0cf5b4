#include "compiler/schedule/cuda/tensor/tensor_contraction.h"

#include <algorithm>

#include "compiler/schedule/cuda/tensor/tensor_facts.h"
#include "compiler/schedule/cuda/tensor/tensor_lower.h"
#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/problem/contraction_space.h"

namespace mlc::schedule {

namespace {

// Whether the registers suffice even if the estimate is some too low: what spills is no default.
bool SurelyFits(const GpuContraction& g, const target::Target& target, const TensorPlan& plan) {
  constexpr int kMax = 232;
  constexpr int kCounted = 8;  // copies of a thread whose addresses the estimate counts
  // The estimate leaves out some of the fragments of a second unit of narrow operands, and much of
  // what becomes of columns in three passes that are not packed before.
  const bool splits = plan.math == TensorMath::kTf32x3 && plan.columns.mode != TileMode::kPacked;
  const int doubt = plan.is_narrow() ? 8 : splits ? 48 : 4;
  const int copies = plan.rows.extent * plan.rows.bk / plan.rows.run / plan.threads();
  const int registers = plan.registers() + 3 * std::max(0, copies - kCounted);
  const int resident = ResidentBlocks(g, target, plan);
  return registers + doubt <= std::min(kMax, gpu::RegistersLeft(plan.threads(), 1)) &&
         registers <= gpu::RegistersLeft(plan.threads(), resident);
}

Config Make(const Space& space, const TensorPlan& plan) {
  Config config = space.At(0);
  SetKnob(config, "bm", plan.bm);
  SetKnob(config, "bn", plan.bn);
  SetKnob(config, "bk", plan.bk);
  SetKnob(config, "warps_m", plan.warps_m);
  SetKnob(config, "warps_n", plan.warps_n);
  SetKnob(config, "slices", plan.slices);
  SetKnob(config, "stages", plan.stages);
  SetKnob(config, "split", plan.cluster ? -plan.split : plan.split);
  SetKnob(config, "raster", plan.raster);
  SetKnob(config, "resident", plan.resident);
  return config;
}

}  // namespace

bool TensorContractionFamily::Accepts(const graph::Workload& workload,
                                      const target::Target& target) const {
  const auto* gpu = target.As<target::GpuTarget>();
  if (gpu == nullptr || gpu->compute < 80) return false;
  const std::optional<GpuContraction> g = FindGpuContractionOrBytes(workload);
  TensorMath math;
  return g && TensorMathOf(*g, &math) && !IsDepthwise(g->p);
}

std::optional<GpuContraction> TensorContractionFamily::Find(const graph::Workload& workload,
                                                            const target::Target&) const {
  return FindGpuContractionOrBytes(workload);
}

Space TensorContractionFamily::MakeSpace(const graph::Workload&, const GpuContraction& g,
                                         const target::Target& target) const {
  const bool narrow = SizeOf(g.p.row_dtype) <= 2;
  Space space{"tensor_contraction", version(), {}};
  space.knobs.push_back({"bm", FittingSizes({16, 32, 64, 128, 256}, g.m)});
  // Packed columns come in groups of any number.
  const bool packed = ModeOf(g, Side::kColumn) == TileMode::kPacked;
  space.knobs.push_back(
      {"bn", FittingSizes(packed ? std::vector<int64_t>{16, 32, 48, 64, 96, 128, 256}
                                 : std::vector<int64_t>{16, 32, 64, 128, 256},
                          g.n)});
  std::vector<int64_t> depths = {16, 32, 64};
  if (narrow) depths.push_back(128);
  if (g.p.of_bytes) depths = {32, 64, 128};
  space.knobs.push_back({"bk", FittingSizes(depths, g.k)});
  space.knobs.push_back({"warps_m", {1, 2, 4}});
  space.knobs.push_back({"warps_n", {1, 2, 4}});
  space.knobs.push_back({"slices", {1, 2, 4}});
  space.knobs.push_back({"stages", {2, 3, 4, 6}});
  std::vector<int64_t> splits = {1, 2, 3, 4, 6, 8, 12, 16};
  const int64_t smallest = g.z * ((g.m + 255) / 256) * ((g.n + 255) / 256);
  if (!g.p.of_bytes) AddClusters(target, g.k / 64, splits);
  std::erase_if(splits, [&](int64_t s) {
    return s != 1 && (std::abs(s) * 64 > g.k || smallest >= 2 * target.gpu().sms);
  });
  space.knobs.push_back({"split", splits});
  const bool large = g.m >= 512 && g.n >= 512;
  space.knobs.push_back(
      {"raster", large ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0, 1}});
  space.knobs.push_back(
      {"resident", narrow ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1}});
  return space;
}

RejectReason TensorContractionFamily::Check(const graph::Workload&, const GpuContraction& g,
                                            const target::Target& target,
                                            const Config& config) const {
  return CheckTensorPlan(g, target, MakeTensorPlan(g, config));
}

KernelFacts TensorContractionFamily::Facts(const graph::Workload& workload, const GpuContraction& g,
                                           const target::Target& target,
                                           const Config& config) const {
  return TensorFacts(workload, g, target, MakeTensorPlan(g, config));
}

Config TensorContractionFamily::Default(const graph::Workload& workload, const GpuContraction& g,
                                        const target::Target& target) const {
  return DefaultIn(workload, g, target, MakeSpace(workload, g, target));
}

Config TensorContractionFamily::DefaultIn(const graph::Workload&, const GpuContraction& g,
                                          const target::Target& target, const Space& part) const {
  Config config = part.At(0);
  Config best = config;
  double least = 1e300;
  constexpr double kLastResort = 1e6;  // times as slow
  const auto try_each = [&](const char* knob, const auto& then) {
    for (int64_t value : DomainOf(part, knob)) {
      SetKnob(config, knob, value);
      then();
    }
  };
  const auto consider = [&] {
    SetKnob(config, "raster", 0);
    SetKnob(config, "resident", 0);
    const TensorPlan plan = MakeTensorPlan(g, config);
    if (plan.cluster || CheckTensorPlan(g, target, plan) != RejectReason::kNone) return;
    const double doubtful = SurelyFits(g, target, plan) ? 1 : kLastResort;
    const double cycles = doubtful * TensorCycles(g, target, plan);
    if (cycles >= least) return;
    least = cycles;
    best = Make(part, plan);
  };
  const auto with_warps = [&] {
    // Whatever else is chosen, these must fit.
    SetKnob(config, "stages", 2);
    SetKnob(config, "split", 1);
    const RejectReason reason = CheckTensorPlan(g, target, MakeTensorPlan(g, config));
    if (reason != RejectReason::kNone) return;
    try_each("stages", [&] { try_each("split", consider); });
  };
  try_each("bm", [&] {
    try_each("bn", [&] {
      try_each("bk", [&] {
        try_each("warps_m", [&] { try_each("warps_n", [&] { try_each("slices", with_warps); }); });
      });
    });
  });
  return best;
}

Result<LoweredKernel> TensorContractionFamily::Lower(const graph::Workload& workload,
                                                     const GpuContraction& g,
                                                     const target::Target& target,
                                                     const Config& config) const {
  TensorPlan plan = MakeTensorPlan(g, config);
  plan.per_sm = ResidentBlocks(g, target, plan);
  return LowerTensor(workload, g, plan);
}

}  // namespace mlc::schedule
