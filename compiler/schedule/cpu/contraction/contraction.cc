#include "compiler/schedule/cpu/contraction/contraction.h"

#include <algorithm>
#include <utility>

#include "compiler/schedule/cpu/contraction/contraction_lower.h"
#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/problem/contraction_space.h"

namespace mlc::schedule {
namespace {

constexpr int kMaxRows = 30;
constexpr int kManyRegisters = 32;
constexpr int64_t kMinChains = 8;
constexpr int64_t kMinPass = 64;         // k steps worth a copy of the rows
constexpr int64_t kMinStreamed = 16384;  // weights worth prefetching by panels

bool TilesOuter(const ContractionProblem& p) {
  return p.outer[1].dim >= 0 && p.outer[1].out > 1 && p.inner.out <= 14;
}

const std::vector<int64_t>& RowChunks() {
  static const std::vector<int64_t> counts = {1, 2, 4, 7, 8, 14, 28};
  return counts;
}

const std::vector<int64_t>& ColumnChunks() {
  static const std::vector<int64_t> counts = {1, 2, 4, 8, 16};
  return counts;
}

int64_t MaxUnits(const ContractionProblem& p) {
  return p.outer[1].dim >= 0 ? p.outer[1].out : p.inner.out;
}

// Steps of k in a pass: equal parts of all.
std::vector<int64_t> PassDepths(const ContractionProblem& p) {
  std::vector<int64_t> depths = {0};
  if (!HasPasses(p) || p.Rows() <= 4) return depths;
  for (int64_t parts = 16; parts >= 2 && depths.size() < 4; --parts) {
    const int64_t depth = p.K() / parts;
    if (p.K() % parts == 0 && depth % 16 == 0 && depth >= 2 * kMinPass) depths.push_back(depth);
  }
  return depths;
}

int64_t ColumnVectors(const ContractionProblem& p, int lanes) {
  return (p.columns + lanes - 1) / lanes;
}

double ScratchBytes(const ContractionProblem& p, const ContractionPlan& plan) {
  return 4 * static_cast<double>(StagedElements(p, plan) + PartialElements(p, plan) +
                                 DecodedElements(p, plan));
}

// Of a tile, with those that numbers are made of codes in. Where there are few, codes and scales
// are read from the first cache at each use.
int64_t Registers(const ContractionProblem& p, const ContractionPlan& plan, int available) {
  const int64_t rows = int64_t{plan.inner_rows} * plan.outer_rows;
  const int64_t registers = rows * plan.vectors + plan.vectors + 1;
  if (!p.IsPacked() || plan.decode) return registers;
  if (available < kManyRegisters) return registers + 2;
  return registers + plan.vectors * (p.packed.zeros < 0 ? 2 : 3) + 1;
}

// What packed columns alone demand. A block is decoded with one scale: passes do not part it.
RejectReason CheckPacked(const ContractionProblem& p, const ContractionPlan& plan, int64_t tiles) {
  if (plan.k_chunk % p.packed.block != 0) return RejectReason::kUnsupported;
  if (!plan.decode) return RejectReason::kNone;
  if (plan.rows_first) return RejectReason::kUnsupported;
  const bool once = tiles / plan.row_chunks < 2;
  return once || plan.prefetch > 0 ? RejectReason::kRedundant : RejectReason::kNone;
}

}  // namespace

bool ContractionFamily::Accepts(const graph::Workload& workload,
                                const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  const std::optional<ContractionProblem> p = FindContractionOfAnyColumns(workload);
  return p && !IsDepthwise(*p);
}

std::optional<ContractionProblem> ContractionFamily::Find(const graph::Workload& workload,
                                                          const target::Target&) const {
  return FindContractionOfAnyColumns(workload);
}

Space ContractionFamily::MakeSpace(const graph::Workload&, const ContractionProblem& p,
                                   const target::Target& target) const {
  const int64_t vectors = ColumnVectors(p, target.cpu().Lanes(DType::kF32));
  const bool few_rows = p.Rows() <= 4;
  Space space{"contraction", version(), {}};
  space.knobs.push_back({"mr", TileSizes(p.inner.out, kMaxRows)});
  space.knobs.push_back(
      {"mh", TilesOuter(p) ? TileSizes(p.outer[1].out, 4) : std::vector<int64_t>{1}});
  space.knobs.push_back({"nr", UpTo(few_rows ? std::vector<int64_t>{1, 2, 3, 4, 6, 8}
                                             : std::vector<int64_t>{1, 2, 3, 4},
                                    std::max<int64_t>(1, vectors))});
  space.knobs.push_back({"rows_first", {0, 1}});
  space.knobs.push_back({"row_chunks", UpTo(RowChunks(), MaxUnits(p))});
  space.knobs.push_back({"col_chunks", UpTo(ColumnChunks(), vectors)});
  space.knobs.push_back({"unroll", {1, 2, 4}});
  space.knobs.push_back({"prefetch", {0, 8, 16}});
  const bool in_place =
      !p.column_is_weight && !p.of_bytes && !p.convolution && p.column_stride == 1;
  space.knobs.push_back({"pack", in_place ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1}});
  space.knobs.push_back({"k_chunk", PassDepths(p)});
  const bool stages = HasPasses(p) && !p.rows_by_byte && p.K() >= kMinPass && !few_rows;
  space.knobs.push_back({"stage", stages ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}});
  const bool streams = p.column_is_weight && !p.IsPacked() && p.K() * p.columns >= kMinStreamed;
  space.knobs.push_back(
      {"prefetch_panel", streams ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}});
  if (p.IsPacked()) {
    space.knobs.push_back(
        {"decode", few_rows ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1}});
  }
  return space;
}

RejectReason CheckPlan(const ContractionProblem& p, const target::Target& target,
                       const ContractionPlan& plan) {
  const int64_t rows = int64_t{plan.inner_rows} * plan.outer_rows;
  const int64_t chains = rows * plan.vectors;
  const int64_t vectors = ColumnVectors(p, plan.lanes);
  const int registers = target.cpu().vector_registers();
  if (Registers(p, plan, registers) > registers) return RejectReason::kRegisters;
  if (plan.inner_rows > p.inner.out || plan.outer_rows > std::max<int64_t>(1, p.outer[1].out) ||
      plan.vectors > vectors) {
    return RejectReason::kTileExceedsShape;
  }
  const int64_t parts = TileCount(p.inner, plan.inner_rows);
  if ((p.inner.out + parts - 1) / parts != plan.inner_rows) return RejectReason::kRedundant;
  // Small shapes may not fill the latency of the FMA units; then half of what they have will do.
  const int64_t most = std::min<int64_t>(p.inner.out, 8) *
                       (TilesOuter(p) ? std::min<int64_t>(p.outer[1].out, 4) : 1) *
                       std::min<int64_t>(vectors, 4);
  const int64_t reachable =
      most >= 2 * kMinChains ? kMinChains : std::min(kMinChains, most + 1) / 2;
  if (chains < reachable) return RejectReason::kTooFewChains;
  if (plan.row_chunks > plan.row_units || plan.column_chunks > plan.panels) {
    return RejectReason::kRedundant;
  }
  if (!plan.pack && (p.column_is_weight || p.of_bytes || !ColumnsInPlace(p, plan.panel_width()))) {
    return RejectReason::kUnsupported;
  }
  if (plan.stage && p.rows_by_byte) return RejectReason::kUnsupported;
  if (plan.k_chunk > 0 && plan.rows_first) return RejectReason::kUnsupported;
  const int64_t tiles = plan.row_units * (p.outer[1].dim >= 0 ? parts : 1);
  if (plan.prefetch_panel && (plan.rows_first || plan.panels <= plan.column_chunks || tiles < 2)) {
    return RejectReason::kRedundant;
  }
  if (p.IsPacked()) {
    const RejectReason reason = CheckPacked(p, plan, tiles);
    if (reason != RejectReason::kNone) return reason;
  }
  if ((plan.stage || plan.k_chunk > 0 || plan.decode) &&
      ScratchBytes(p, plan) > 2 * static_cast<double>(target.cpu().l2_bytes)) {
    return RejectReason::kCache;
  }
  if (plan.prefetch > 0 && p.depth <= 16) return RejectReason::kRedundant;
  if (plan.unroll > p.depth) return RejectReason::kRedundant;
  const int64_t chunks = plan.parallel_chunks(p);
  // Of what the knobs offer: three tiles cannot be three chunks.
  const int64_t reachable_chunks = p.Batches() * p.outer[0].out *
                                   LargestUpTo(RowChunks(), plan.row_units) *
                                   LargestUpTo(ColumnChunks(), plan.panels);
  if (chunks < std::min<int64_t>(target.cpu().threads, reachable_chunks)) {
    return RejectReason::kParallelism;
  }
  // Chunks of some microseconds each: smaller ones only add overhead.
  if (plan.row_chunks * plan.column_chunks > 8 * target.cpu().threads &&
      p.Flops() / static_cast<double>(chunks) < 2e5) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

RejectReason ContractionFamily::Check(const graph::Workload&, const ContractionProblem& problem,
                                      const target::Target& target, const Config& config) const {
  return CheckPlan(problem, target, MakePlan(problem, target, config));
}

KernelFacts ContractionFamily::Facts(const graph::Workload& workload,
                                     const ContractionProblem& problem,
                                     const target::Target& target, const Config& config) const {
  return PlanFacts(workload, problem, target, MakePlan(problem, target, config));
}

Result<LoweredKernel> ContractionFamily::Lower(const graph::Workload& workload,
                                               const ContractionProblem& problem,
                                               const target::Target& target,
                                               const Config& config) const {
  return LowerContraction(workload, problem, MakePlan(problem, target, config));
}

Result<LoweredKernel> ContractionFamily::LowerForRows(const graph::Workload& workload,
                                                      const ContractionProblem& problem,
                                                      const target::Target& target,
                                                      const Config& config) const {
  return LowerContraction(workload, problem, MakePlan(problem, target, config), true);
}

}  // namespace mlc::schedule
