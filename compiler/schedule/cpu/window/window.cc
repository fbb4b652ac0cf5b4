#include "compiler/schedule/cpu/window/window.h"

#include <algorithm>

#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/window/window_lower.h"

namespace mlc::schedule {

using graph::Workload;

namespace {

constexpr int64_t kGrainUnit = 1024;

int64_t Vectors(const WindowProblem& p) { return (p.Columns() + p.lanes - 1) / p.lanes; }

int64_t RowBlock(const WindowProblem& p, int64_t grain) {
  return std::clamp<int64_t>(grain * kGrainUnit / std::max<int64_t>(1, p.Columns()), 1,
                             std::max<int64_t>(1, p.Rows()));
}

int64_t Chunks(const WindowProblem& p, int64_t grain) {
  const int64_t block = RowBlock(p, grain);
  return (p.Rows() + block - 1) / block;
}

}  // namespace

bool WindowFamily::Accepts(const Workload& workload, const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  return FindWindow(workload, target).has_value();
}

std::optional<WindowProblem> WindowFamily::Find(const Workload& workload,
                                                const target::Target& target) const {
  return FindWindow(workload, target);
}

Space WindowFamily::MakeSpace(const Workload&, const WindowProblem& p,
                              const target::Target&) const {
  Space space{"window", version(), {}};
  std::vector<int64_t> vectors;
  for (int64_t n : {1, 2, 4, 8}) {
    if (n == 1 || (p.column == 1 && n <= Vectors(p))) vectors.push_back(n);
  }
  std::vector<int64_t> grains;
  for (int64_t grain : {1, 2, 4, 8, 16, 32, 64}) {
    if (grain == 1 || RowBlock(p, grain) > RowBlock(p, grain / 2)) grains.push_back(grain);
  }
  space.knobs.push_back({"vectors", vectors});
  space.knobs.push_back({"grain", grains});
  return space;
}

RejectReason WindowFamily::Check(const Workload&, const WindowProblem& p,
                                 const target::Target& target, const Config& config) const {
  if (config["vectors"] > 1 && config["vectors"] > Vectors(p)) {
    return RejectReason::kTileExceedsShape;
  }
  if (config["grain"] > 1 && Chunks(p, config["grain"]) < target.cpu().threads) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

KernelFacts WindowFamily::Facts(const Workload& workload, const WindowProblem& p,
                                const target::Target& target, const Config& config) const {
  const double outputs = static_cast<double>(p.Rows() * p.Columns());
  const double size = SizeOf(p.dtype);
  KernelFacts facts;
  facts.useful_flops = workload.Flops();
  facts.lane_fill = static_cast<double>(p.Columns()) / static_cast<double>(Vectors(p) * p.lanes);
  facts.flops = facts.useful_flops / facts.lane_fill;
  facts.accumulators = static_cast<double>(config["vectors"]);
  facts.inner_trip = static_cast<double>(p.kernel.back());
  facts.l1_bytes = outputs * size * static_cast<double>(p.Taps() + 1);
  facts.l2_bytes = facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.l1_set_bytes = static_cast<double>(p.Taps() * config["vectors"] * p.lanes) * size;
  facts.body_ops = static_cast<double>(p.Taps() * config["vectors"] * 2);
  facts.parallel_chunks = static_cast<double>(Chunks(p, config["grain"]));
  facts.imbalance = ChunkImbalance(facts.parallel_chunks, target.cpu().threads);
  return facts;
}

Config WindowFamily::Default(const Workload& workload, const WindowProblem& p,
                             const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  for (int64_t vectors : space.knobs[0].domain) {
    if (vectors <= 4) config.knobs[0].second = vectors;
  }
  const int64_t per_thread =
      p.Rows() * p.Columns() / (16 * int64_t{target.cpu().threads} * kGrainUnit);
  for (int64_t grain : space.knobs[1].domain) {
    if (grain <= per_thread && Chunks(p, grain) >= target.cpu().threads)
      config.knobs[1].second = grain;
  }
  return config;
}

Result<LoweredKernel> WindowFamily::Lower(const Workload& workload, const WindowProblem& p,
                                          const target::Target&, const Config& config) const {
  const WindowKnobs knobs{static_cast<int>(config["vectors"]), RowBlock(p, config["grain"])};
  return LowerWindow(workload, p, knobs);
}

}  // namespace mlc::schedule
