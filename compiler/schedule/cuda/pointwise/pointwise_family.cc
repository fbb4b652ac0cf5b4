#include "compiler/schedule/cuda/pointwise/pointwise_family.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/pointwise/pointwise_pieces.h"
#include "compiler/schedule/cuda/pointwise/scan_lower.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::ValueId;
using graph::Workload;

namespace {

constexpr int64_t kWorthTile = 16;

bool AllCovered(const Workload& workload) {
  return std::all_of(workload.outputs().begin(), workload.outputs().end(),
                     [&](ValueId output) { return Fused::Covers(workload, output, {}); });
}

int64_t LargestOutput(const Workload& workload) {
  int64_t elements = 1;
  for (ValueId output : workload.outputs()) {
    elements = std::max(elements, workload.graph()[output].type.NumElements());
  }
  return elements;
}

gpu::PieceKnobs KnobsOf(const Config& config) {
  return {static_cast<int>(config["lanes"]), static_cast<int>(config["unroll"]),
          static_cast<int>(config["threads"]), static_cast<int>(config["tile"])};
}

// True if both edges of the transpose fill a tile reasonably.
bool NeedsTile(const Piece& piece) {
  const int across = gpu::AcrossOf(piece);
  if (across < 0) return false;
  const graph::TensorType& type = piece.part.graph()[piece.part.outputs()[0]].type;
  return std::min(type.dims[static_cast<size_t>(across)],
                  type.dims[static_cast<size_t>(piece.order.back())]) >= kWorthTile;
}

}  // namespace

bool GpuPointwiseFamily::Accepts(const Workload& workload, const target::Target& target) const {
  return target.As<target::GpuTarget>() != nullptr &&
         (AllCovered(workload) || gpu::FindScanOnGpu(workload) != graph::kNoValue);
}

std::optional<PointwiseProblem> GpuPointwiseFamily::Find(const Workload& workload,
                                                         const target::Target&) const {
  const PointwiseProblem problem{AllCovered(workload), gpu::FindScanOnGpu(workload)};
  if (!problem.covered && problem.scan == graph::kNoValue) return std::nullopt;
  return problem;
}

Space GpuPointwiseFamily::MakeSpace(const Workload& workload, const PointwiseProblem& p,
                                    const target::Target&) const {
  int widest = 1;
  bool transposing = false;
  if (p.covered) {
    for (const Piece& piece : CutPieces(workload)) {
      widest = std::max(widest, gpu::WidestLanes(piece));
      transposing = transposing || gpu::AcrossOf(piece) >= 0;
    }
  }
  const auto up_to = [](std::vector<int64_t> values, int64_t limit) {
    std::erase_if(values, [&](int64_t v) { return v > limit; });
    return values;
  };
  const int64_t points = CeilDiv(LargestOutput(workload), widest);
  Space space{std::string(name()), version(), {}};
  space.knobs.push_back({"lanes", up_to({1, 2, 4, 8, 16}, widest)});
  space.knobs.push_back({"unroll", up_to({1, 2, 4, 8}, std::max<int64_t>(1, points / 128))});
  space.knobs.push_back({"threads", {64, 128, 256, 512}});
  space.knobs.push_back(
      {"tile", transposing ? std::vector<int64_t>{0, 32, 64} : std::vector<int64_t>{0}});
  return space;
}

RejectReason GpuPointwiseFamily::Check(const Workload& workload, const PointwiseProblem&,
                                       const target::Target&, const Config& config) const {
  const int64_t elements = LargestOutput(workload);
  const int64_t block = config["lanes"] * config["unroll"] * config["threads"];
  if (config["unroll"] > 1 && block > elements) return RejectReason::kTileExceedsShape;
  if (config["tile"] > 0 && config["unroll"] > 1) return RejectReason::kRedundant;
  if (config["lanes"] * config["unroll"] > 64) return RejectReason::kRegisters;
  return RejectReason::kNone;
}

KernelFacts GpuPointwiseFamily::Facts(const Workload& workload, const PointwiseProblem&,
                                      const target::Target& target, const Config& config) const {
  KernelFacts facts;
  const double elements = static_cast<double>(LargestOutput(workload));
  const double per_thread = static_cast<double>(config["lanes"] * config["unroll"]);
  facts.flops = facts.useful_flops = workload.Flops();
  facts.special_flops = gpu::SpecialFlops(workload);
  facts.l2_bytes = facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.accumulators = static_cast<double>(config["unroll"]);
  facts.inner_trip = 1;
  facts.body_ops = per_thread * static_cast<double>(workload.graph().size());
  const double tile = static_cast<double>(config["tile"]);
  facts.l1_bytes = tile > 0 ? 2 * workload.MinBytes() : 0;
  const double threads = static_cast<double>(config["threads"]);
  const double blocks = tile > 0 ? elements / (tile * tile) : elements / (per_thread * threads);
  gpu::SetLaunch(
      target,
      {std::max(1.0, std::ceil(blocks)), threads, tile * (tile + 1) * 4, 24 + 2 * per_thread},
      facts);
  return facts;
}

Config GpuPointwiseFamily::Default(const Workload& workload, const PointwiseProblem& p,
                                   const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  gpu::SetKnob(space, config, "lanes", 16);
  // Enough blocks for every multiprocessor first, then several loads of a thread in flight.
  const int64_t elements = LargestOutput(workload);
  const int64_t vectors = elements / config["lanes"];
  const int64_t sms = std::max(1, target.gpu().sms);
  if (vectors < sms * 256) {
    gpu::SetKnob(space, config, "lanes", config["lanes"] >= 4 ? config["lanes"] / 2 : 1);
  }
  gpu::SetKnob(space, config, "threads", vectors < sms * 256 ? 128 : 256);
  const bool tiled = p.covered && [&] {
    const std::vector<Piece> pieces = CutPieces(workload);
    return std::any_of(pieces.begin(), pieces.end(), NeedsTile);
  }();
  if (tiled) {
    gpu::SetKnob(space, config, "tile", config["lanes"] > 4 ? 64 : 32);
  } else if (vectors >= sms * 256 * 8 * 4) {
    gpu::SetKnob(space, config, "unroll", 4);
  }
  if (Check(workload, p, target, config) != RejectReason::kNone) {
    gpu::SetKnob(space, config, "unroll", 1);
  }
  return config;
}

Result<LoweredKernel> GpuPointwiseFamily::Lower(const Workload& workload, const PointwiseProblem& p,
                                                const target::Target&, const Config& config) const {
  const gpu::PieceKnobs knobs = KnobsOf(config);
  if (!p.covered) return gpu::LowerScan(workload, p.scan, knobs);
  ir::KernelBuilder builder("pointwise");
  if (gpu::AllNarrow(workload)) builder.Approximate();
  const Fused whole(workload, builder);
  gpu::EmitPieces(builder, whole, CutPieces(workload), knobs);
  return LoweredKernel{builder.Finish(), whole.bindings(), {}};
}

}  // namespace mlc::schedule
