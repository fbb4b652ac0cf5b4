#include "compiler/schedule/cpu/fixed_point/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/fixed_point/fixed_point_lower.h"
#include "compiler/schedule/problem/contraction_space.h"

namespace mlc::schedule {
namespace {

// Sums of f32 err as much.
constexpr double kTolerance = 1e-6;
constexpr int64_t kMaxRows = 64;
constexpr int64_t kMaxRoundedRows = 4096;
constexpr int64_t kMaxTileRows = 6;
constexpr int64_t kMaxVectors = 4;
constexpr int64_t kMaxBody = 448;  // vector instructions: see RegisterTile::Loop
// Vector instructions besides those on codes: start and end of a group, and for each digit.
constexpr double kGroupOps = 2;
constexpr double kDigitOps = 2;
// Of a group of a row, in the phase before.
constexpr double kRowOps = 60;
// The split among threads: what a thread reads of memory, what a chunk costs, and what few chunks
// lose where a thread is late.
constexpr double kBytesPerNs = 16;
constexpr double kChunkNs = 150;
constexpr double kFewChunks = 0.02;

const std::vector<int64_t>& ColumnChunks() {
  static const std::vector<int64_t> counts = {1, 2, 4, 8, 16, 32, 64, 128};
  return counts;
}

std::optional<ContractionProblem> FindProblem(const graph::Workload& workload,
                                              const target::Target& target) {
  const auto* cpu = target.As<target::CpuTarget>();
  if (cpu == nullptr || cpu->isa != target::Isa::kAvx512Vnni) return std::nullopt;
  if (workload.tolerance() < kTolerance) return std::nullopt;
  std::optional<ContractionProblem> p = FindContractionOfAnyColumns(workload);
  if (!p || !p->IsPacked() || p->column_dtype != DType::kF32) return std::nullopt;
  const int64_t group = GroupOf(*p);
  const int64_t most = MayRoundRows(workload, *p) ? kMaxRoundedRows : kMaxRows;
  if (group == 0 || p->depth < group || p->inner.out > most) return std::nullopt;
  if (p->columns < cpu->Lanes(DType::kF32) || p->row_k_stride == 0) return std::nullopt;
  // Sums start with multiples of it, as words.
  if (p->packed.zero >= int64_t{1} << p->packed.bits) return std::nullopt;
  return p;
}

// Vector instructions of a group of a tile, but those of the rows' phase.
double GroupOps(const FixedPointPlan& plan, int rows) {
  const double codes = plan.parts > 1 ? 2 * plan.parts : 1;
  const double products = static_cast<double>(rows * plan.parts * plan.digits);
  return plan.vectors * (static_cast<double>(plan.words()) * (codes + products) +
                         (kGroupOps + kDigitOps * plan.digits) * rows);
}

double VectorOps(const ContractionProblem& p, const FixedPointPlan& plan) {
  const int64_t whole = p.inner.out / plan.rows;
  const auto rest = static_cast<int>(p.inner.out % plan.rows);
  double ops = static_cast<double>(whole) * GroupOps(plan, plan.rows);
  if (rest > 0) ops += GroupOps(plan, rest);
  return static_cast<double>(plan.panels * plan.groups) * ops +
         kRowOps * static_cast<double>(p.inner.out * plan.groups);
}

RejectReason CheckPlan(const ContractionProblem& p, const target::Target& target,
                       const FixedPointPlan& plan) {
  if (plan.registers(p.packed.zeros >= 0) > target.cpu().vector_registers()) {
    return RejectReason::kRegisters;
  }
  if (plan.vectors > CeilDiv(p.columns, int64_t{plan.lanes})) {
    return RejectReason::kTileExceedsShape;
  }
  if (GroupOps(plan, plan.rows) > static_cast<double>(kMaxBody)) return RejectReason::kCodeSize;
  if (plan.column_chunks > plan.panels) return RejectReason::kRedundant;
  const int64_t most = LargestUpTo(ColumnChunks(), plan.panels);
  if (plan.column_chunks < std::min<int64_t>(target.cpu().threads, most)) {
    return RejectReason::kParallelism;
  }
  if (plan.column_chunks > std::max<int64_t>(16, 8 * target.cpu().threads)) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

KernelFacts PlanFacts(const graph::Workload& workload, const ContractionProblem& p,
                      const target::Target& target, const FixedPointPlan& plan) {
  KernelFacts f;
  const auto rows = static_cast<double>(p.inner.out);
  const auto padded = static_cast<double>(plan.panels * plan.width());
  const auto depth = static_cast<double>(p.depth);
  f.useful_flops = p.Flops();
  f.flops = 2.0 * plan.lanes * VectorOps(p, plan);
  f.lane_fill = static_cast<double>(p.columns) / padded;
  f.accumulators = static_cast<double>(plan.rows * plan.vectors * plan.digits);
  f.loads_per_fma = static_cast<double>(plan.rows * plan.digits * plan.parts + 1) /
                    static_cast<double>(plan.rows * plan.digits * plan.parts * plan.vectors);
  f.inner_trip = static_cast<double>(plan.groups);
  const double codes = depth * padded * p.ColumnBytes();
  const double digits = rows * depth * plan.digits;
  const double tiles = static_cast<double>(CeilDiv(p.inner.out, int64_t{plan.rows}));
  f.l1_bytes = codes * tiles + digits * static_cast<double>(plan.panels);
  f.l1_set_bytes = static_cast<double>(plan.rows) * depth * plan.digits;
  f.l2_set_bytes = digits + codes / static_cast<double>(plan.panels);
  f.l2_bytes = codes * tiles + (digits > static_cast<double>(target.cpu().l1_bytes) / 2
                                    ? digits * static_cast<double>(plan.panels)
                                    : 0);
  f.l3_bytes = codes;
  f.dram_bytes = workload.MinBytes();
  f.scratch_bytes = 2 * digits;
  f.parallel_chunks = static_cast<double>(plan.column_chunks);
  f.imbalance = ChunkImbalance(f.parallel_chunks, target.cpu().threads,
                               LargestPart(plan.panels, plan.column_chunks));
  f.phases = 2;
  f.body_ops = GroupOps(plan, plan.rows);
  return f;
}

// Least time: even chunks, some for each thread, that are worth their start.
int64_t DefaultChunks(const ContractionProblem& p, const target::Target& target,
                      const FixedPointPlan& plan) {
  const int threads = target.cpu().threads;
  const double ns =
      static_cast<double>(p.depth * p.columns) * p.ColumnBytes() / (kBytesPerNs * threads);
  int64_t best = 1;
  double best_cost = std::numeric_limits<double>::infinity();
  for (const int64_t chunks : UpTo(ColumnChunks(), plan.panels)) {
    FixedPointPlan split = plan;
    split.column_chunks = chunks;
    if (CheckPlan(p, target, split) != RejectReason::kNone) continue;
    const auto count = static_cast<double>(chunks);
    const double uneven = ChunkImbalance(count, threads, LargestPart(plan.panels, chunks));
    const double cost =
        ns * uneven * (1 + kFewChunks * threads / count) + kChunkNs * std::ceil(count / threads);
    if (cost < best_cost) {
      best_cost = cost;
      best = chunks;
    }
  }
  return best;
}

}  // namespace

bool FixedPointFamily::Accepts(const graph::Workload& workload,
                               const target::Target& target) const {
  return FindProblem(workload, target).has_value();
}

std::optional<ContractionProblem> FixedPointFamily::Find(const graph::Workload& workload,
                                                         const target::Target& target) const {
  return FindProblem(workload, target);
}

Space FixedPointFamily::MakeSpace(const graph::Workload&, const ContractionProblem& p,
                                  const target::Target& target) const {
  const int64_t vectors = CeilDiv(p.columns, int64_t{target.cpu().Lanes(DType::kF32)});
  Space space{"fixed_point", version(), {}};
  space.knobs.push_back({"mr", TileSizes(p.inner.out, kMaxTileRows)});
  space.knobs.push_back({"nr", UpTo({1, 2, 3, kMaxVectors}, vectors)});
  space.knobs.push_back({"col_chunks", UpTo(ColumnChunks(), vectors)});
  space.knobs.push_back({"prefetch", {0, 32, 64, 128}});
  return space;
}

RejectReason FixedPointFamily::Check(const graph::Workload& workload, const ContractionProblem& p,
                                     const target::Target& target, const Config& config) const {
  return CheckPlan(p, target, MakeFixedPointPlan(workload, p, target, config));
}

KernelFacts FixedPointFamily::Facts(const graph::Workload& workload, const ContractionProblem& p,
                                    const target::Target& target, const Config& config) const {
  return PlanFacts(workload, p, target, MakeFixedPointPlan(workload, p, target, config));
}

Config FixedPointFamily::Default(const graph::Workload& workload, const ContractionProblem& p,
                                 const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  SetKnob(config, "prefetch", 64);
  Config best = config;
  double best_ops = std::numeric_limits<double>::infinity();
  for (const int64_t mr : DomainOf(space, "mr")) {
    for (const int64_t nr : DomainOf(space, "nr")) {
      SetKnob(config, "mr", mr);
      SetKnob(config, "nr", nr);
      FixedPointPlan plan = MakeFixedPointPlan(workload, p, target, config);
      plan.column_chunks = DefaultChunks(p, target, plan);
      SetKnob(config, "col_chunks", plan.column_chunks);
      if (CheckPlan(p, target, plan) != RejectReason::kNone) continue;
      const double imbalance =
          ChunkImbalance(static_cast<double>(plan.column_chunks), target.cpu().threads,
                         LargestPart(plan.panels, plan.column_chunks));
      const double ops = VectorOps(p, plan) * imbalance * (1 + 0.02 / static_cast<double>(nr));
      if (ops < best_ops) {
        best_ops = ops;
        best = config;
      }
    }
  }
  return best;
}

Result<LoweredKernel> FixedPointFamily::Lower(const graph::Workload& workload,
                                              const ContractionProblem& p,
                                              const target::Target& target,
                                              const Config& config) const {
  return LowerFixedPoint(workload, p, target, MakeFixedPointPlan(workload, p, target, config));
}

}  // namespace mlc::schedule
