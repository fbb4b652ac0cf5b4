#include "compiler/schedule/cuda/pool/pool_family.h"

#include <algorithm>
#include <string>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/pool/pool_lower.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

using graph::Workload;

bool GpuPoolFamily::Accepts(const Workload& workload, const target::Target& target) const {
  return target.As<target::GpuTarget>() != nullptr && FindWindow(workload, 1).has_value();
}

std::optional<WindowProblem> GpuPoolFamily::Find(const Workload& workload,
                                                 const target::Target&) const {
  return gpu::FindPool(workload);
}

Space GpuPoolFamily::MakeSpace(const Workload&, const WindowProblem& p,
                               const target::Target&) const {
  Space space{std::string(name()), version(), {}};
  std::vector<int64_t> lanes;
  for (int64_t n = 1; n <= p.lanes; n *= 2) lanes.push_back(n);
  space.knobs.push_back({"lanes", lanes});
  space.knobs.push_back({"threads", {32, 64, 128, 256, 512}});
  return space;
}

RejectReason GpuPoolFamily::Check(const Workload& workload, const WindowProblem&,
                                  const target::Target&, const Config& config) const {
  const graph::TensorType& type = workload.graph()[workload.outputs()[0]].type;
  const int64_t points = type.NumElements() / config["lanes"];
  if (config["threads"] > 32 && config["threads"] / 2 >= points) {
    return RejectReason::kTileExceedsShape;
  }
  return RejectReason::kNone;
}

KernelFacts GpuPoolFamily::Facts(const Workload& workload, const WindowProblem& problem,
                                 const target::Target& target, const Config& config) const {
  WindowProblem p = problem;
  p.lanes = static_cast<int>(config["lanes"]);
  const double outputs = static_cast<double>(p.Rows() * p.Columns());
  const double taps = static_cast<double>(p.Taps());
  KernelFacts facts;
  facts.flops = facts.useful_flops = workload.Flops();
  facts.accumulators = 1;
  facts.inner_trip = taps;
  facts.l2_bytes = facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.l1_bytes = outputs * taps * SizeOf(workload.graph()[workload.operands()[0]].type.dtype);
  facts.body_ops = taps * p.lanes * 2;
  const double threads = static_cast<double>(config["threads"]);
  const int64_t blocks = CeilDiv(gpu::PoolPoints(p), config["threads"]);
  gpu::SetLaunch(target, {static_cast<double>(blocks), threads, 0, 28.0 + 4 * p.lanes}, facts);
  return facts;
}

Config GpuPoolFamily::Default(const Workload& workload, const WindowProblem& p,
                              const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  // Narrower vectors where wide ones leave multiprocessors without work.
  const int64_t outputs = p.Rows() * p.Columns();
  const int64_t wanted = outputs / (std::max(1, target.gpu().sms) * int64_t{128});
  gpu::SetKnob(space, config, "lanes", std::clamp<int64_t>(wanted, p.lanes > 1 ? 2 : 1, 8));
  const int64_t points = outputs / config["lanes"];
  gpu::SetKnob(space, config, "threads",
               std::clamp<int64_t>(points / std::max(1, target.gpu().sms), 32, 256));
  while (Check(workload, p, target, config) != RejectReason::kNone) {
    gpu::SetKnob(space, config, "threads", config["threads"] / 2);
  }
  return config;
}

Result<LoweredKernel> GpuPoolFamily::Lower(const Workload& workload, const WindowProblem& problem,
                                           const target::Target&, const Config& config) const {
  WindowProblem p = problem;
  p.lanes = static_cast<int>(config["lanes"]);
  return gpu::LowerPool(workload, p, static_cast<int>(config["threads"]));
}

}  // namespace mlc::schedule
