#include "compiler/schedule/cpu/pointwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/schedule/cpu/cache_line.h"
#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/pointwise/pointwise_loops.h"
#include "compiler/schedule/cpu/pointwise/pointwise_scan.h"
#include "compiler/schedule/cpu/pointwise/pointwise_selection.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule {

using graph::Op;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

bool AllCovered(const Workload& workload) {
  return std::all_of(workload.outputs().begin(), workload.outputs().end(),
                     [&](ValueId output) { return Fused::Covers(workload, output, {}); });
}

// The scan or selection that the workload is about.
ValueId FindLoop(const Workload& workload) {
  const ValueId scan = FindScan(workload);
  return scan == graph::kNoValue ? FindSelection(workload) : scan;
}

int64_t LargestOutput(const Workload& workload) {
  int64_t elements = 0;
  for (ValueId output : workload.outputs()) {
    elements = std::max(elements, workload.graph()[output].type.NumElements());
  }
  return elements;
}

double OutputBytes(const Workload& workload) {
  double bytes = 0;
  for (ValueId output : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[output].type;
    bytes += static_cast<double>(type.NumElements()) * SizeOf(type.dtype);
  }
  return bytes;
}

double SpecialFlops(const Workload& workload) {
  double flops = 0;
  for (ValueId id = 0; id < workload.graph().size(); ++id) {
    const graph::Value& node = workload.graph()[id];
    if (node.op != Op::kPointwise) continue;
    const double each = InfoOf(node.scalar).flops;
    if (each > 2) flops += each * static_cast<double>(node.type.NumElements());
  }
  return flops;
}

// Squares that turn are as wide as a vector.
bool WritesHalfLines(const Workload& workload, const target::Target& target) {
  if (target.cpu().Lanes(DType::kF32) * SizeOf(DType::kF32) >= kCacheLineBytes) return false;
  const std::vector<Piece> pieces = CutPieces(workload);
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return TransposesInRegisters(piece, target); });
}

PieceKnobs KnobsOf(const Config& config) {
  PieceKnobs knobs;
  knobs.unroll = static_cast<int>(config["unroll"]);
  knobs.tile = static_cast<int>(config["tile"]);
  knobs.grain = config["grain"] * 1024;
  knobs.streaming = config["streaming"] != 0;
  return knobs;
}

LoweredKernel LowerPieces(const Workload& workload, const target::Target& target,
                          const PieceKnobs& knobs) {
  ir::KernelBuilder builder("pointwise");
  Fused whole(workload, builder);
  const std::vector<Piece> pieces = CutPieces(workload);
  std::vector<PieceLoops> loops;
  int64_t chunks = 0;
  for (const Piece& piece : pieces) {
    loops.push_back(PlanPiece(piece, target, knobs));
    chunks += loops.back().chunks;
  }
  builder.Parallel("p", chunks, [&](const ExprRef& p) {
    int64_t first = 0;
    // A chain of conditions on the chunk's number; the last piece needs none.
    const std::function<void(size_t)> emit = [&](size_t i) {
      const auto body = [&] {
        Fused part(pieces[i].part, builder, whole, pieces[i].operands, pieces[i].outputs,
                   pieces[i].offsets);
        EmitChunk(builder, part, pieces[i], loops[i], builder.Let("k", p - first));
      };
      if (i + 1 == pieces.size()) return body();
      const int64_t end = first + loops[i].chunks;
      builder.If(ir::MakeApply(ScalarOp::kLess, {p, ir::Int(end)}), body, [&] {
        first = end;
        emit(i + 1);
      });
    };
    if (!pieces.empty()) emit(0);
  });
  return {builder.Finish(), whole.bindings(), {}};
}

}  // namespace

bool PointwiseFamily::Accepts(const Workload& workload, const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  return AllCovered(workload) || FindLoop(workload) != graph::kNoValue;
}

std::optional<PointwiseProblem> PointwiseFamily::Find(const Workload& workload,
                                                      const target::Target&) const {
  const PointwiseProblem problem{AllCovered(workload), FindLoop(workload)};
  if (!problem.covered && problem.scan == graph::kNoValue) return std::nullopt;
  return problem;
}

Space PointwiseFamily::MakeSpace(const Workload& workload, const PointwiseProblem& p,
                                 const target::Target& target) const {
  Space space{"pointwise", version(), {}};
  const bool scan = !p.covered;
  bool transposing = false;
  bool in_registers = false;
  bool vectors = false;
  if (!scan) {
    for (const Piece& piece : CutPieces(workload)) {
      transposing = transposing || IsTransposing(piece);
      in_registers = in_registers || TransposesInRegisters(piece, target);
      vectors = vectors || PlanPiece(piece, target, {}).lanes > 1;
    }
  }
  const int64_t elements = LargestOutput(workload);
  std::vector<int64_t> grains;
  for (int64_t grain : {1, 4, 16, 64, 256}) {
    if (grain == 1 || (!scan && grain * 1024 * target.cpu().threads <= elements))
      grains.push_back(grain);
  }
  const bool spills = OutputBytes(workload) > static_cast<double>(target.cpu().l2_bytes);
  space.knobs.push_back(
      {"unroll", vectors ? std::vector<int64_t>{1, 2, 4, 8} : std::vector<int64_t>{1}});
  space.knobs.push_back({"tile", in_registers  ? std::vector<int64_t>{0, 16, 32, 64, 256}
                                 : transposing ? std::vector<int64_t>{0, 8, 16, 32, 64}
                                               : std::vector<int64_t>{0}});
  space.knobs.push_back({"grain", grains});
  space.knobs.push_back(
      {"streaming", vectors && spills ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}});
  return space;
}

RejectReason PointwiseFamily::Check(const Workload& workload, const PointwiseProblem&,
                                    const target::Target& target, const Config& config) const {
  const int64_t elements = LargestOutput(workload);
  const int64_t step = config["unroll"] * target.cpu().Lanes(DType::kF32);
  if (config["unroll"] > 1 && step > std::max<int64_t>(elements, 1)) {
    return RejectReason::kTileExceedsShape;
  }
  if (config["tile"] > 0 && config["unroll"] > 1) return RejectReason::kRedundant;
  // Chunks below about a microsecond only add overhead.
  if (elements / (config["grain"] * 1024) > 4096 * int64_t{target.cpu().threads}) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

KernelFacts PointwiseFamily::Facts(const Workload& workload, const PointwiseProblem&,
                                   const target::Target& target, const Config& config) const {
  KernelFacts facts;
  const double bytes = workload.MinBytes();
  const double written = OutputBytes(workload);
  const double elements = static_cast<double>(LargestOutput(workload));
  const double lanes = target.cpu().Lanes(DType::kF32);
  const bool streaming = config["streaming"] != 0;
  facts.flops = facts.useful_flops = workload.Flops();
  facts.special_flops = SpecialFlops(workload);
  facts.l1_bytes = facts.l2_bytes = facts.l3_bytes = bytes;
  // A plain store reads its line first.
  facts.dram_bytes = bytes + (streaming ? 0 : written);
  const double unroll = static_cast<double>(config["unroll"]);
  facts.accumulators = unroll;
  facts.inner_trip = elements / std::max(1.0, unroll * lanes);
  facts.body_ops = unroll * static_cast<double>(workload.graph().size());
  const double tile = static_cast<double>(config["tile"]);
  facts.l1_set_bytes = tile > 0 ? tile * lanes * 8 : unroll * lanes * 8;
  const double grain = static_cast<double>(config["grain"]) * 1024;
  facts.l2_set_bytes = std::min(grain, elements) * (bytes / std::max(1.0, elements));
  facts.parallel_chunks = std::max(1.0, std::ceil(elements / grain));
  facts.imbalance = ChunkImbalance(facts.parallel_chunks, target.cpu().threads);
  return facts;
}

Config PointwiseFamily::Default(const Workload& workload, const PointwiseProblem& p,
                                const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  const double total = workload.MinBytes();
  for (size_t i = 0; i < space.knobs.size(); ++i) {
    const std::vector<int64_t>& domain = space.knobs[i].domain;
    int64_t& value = config.knobs[i].second;
    const std::string& name = space.knobs[i].name;
    // Squares that turn read whole lines; more of them side by side are runs that memory likes.
    if (name == "tile" && domain.size() > 1) value = domain.back() > 64 ? 64 : 16;
    if (name == "unroll" && domain.size() > 1 && space.knobs[1].domain.size() == 1) value = 2;
    if (name == "grain") {
      // About four chunks a thread, none larger than a part of the second-level cache.
      const int64_t wanted = LargestOutput(workload) / (4096 * int64_t{target.cpu().threads});
      for (int64_t grain : domain) {
        if (grain <= std::clamp<int64_t>(wanted, 1, 64)) value = grain;
      }
    }
    if (name == "streaming" && domain.size() > 1) {
      value =
          total > 2.0 * static_cast<double>(target.cpu().l2_bytes) * target.cpu().threads ? 1 : 0;
      // Lines that bypass the caches half written go to memory twice.
      if (WritesHalfLines(workload, target)) value = 0;
    }
  }
  if (Check(workload, p, target, config) != RejectReason::kNone) config = space.At(0);
  return config;
}

Result<LoweredKernel> PointwiseFamily::Lower(const Workload& workload, const PointwiseProblem& p,
                                             const target::Target& target,
                                             const Config& config) const {
  if (p.covered) return LowerPieces(workload, target, KnobsOf(config));
  if (IsSelection(workload.graph()[p.scan].op)) return LowerSelection(workload, p.scan);
  return LowerScan(workload, target, p.scan);
}

}  // namespace mlc::schedule
