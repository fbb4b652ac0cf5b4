#include "compiler/schedule/cpu/winograd/winograd.h"

#include <algorithm>
#include <cmath>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/winograd/winograd_lower.h"
#include "compiler/schedule/problem/contraction_space.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {
namespace {

// Tolerances from which each output tile is admitted (see the header).
constexpr double kTolerance2 = 1e-5;
constexpr double kTolerance4 = 1e-4;
constexpr int64_t kMinChannels = 16;
// With fewer tiles of an image the larger transformed weights cost more than the products save: a
// 7x7 image of 512 channels is twice slower than the direct kernel.
constexpr int64_t kMinTiles = 32;
// Of one of many chunks; smaller ones only read the transformed weights more often.
constexpr double kMinFlops = 2e6;

// Large images need many: what is transformed at a time has to stay in the second cache.
const std::vector<int64_t>& Groups() {
  static const std::vector<int64_t> counts = {1,   2,   3,   4,   5,   6,   7,   8,  10,
                                              12,  14,  16,  20,  28,  40,  56,  80, 98,
                                              128, 196, 256, 392, 512, 784, 1024};
  return counts;
}

const std::vector<int64_t>& ColumnChunks() {
  static const std::vector<int64_t> counts = {1, 2, 4};
  return counts;
}

// Many threads cannot always be served: not every number of groups cuts the tiles evenly.
int64_t LeastChunks(const ContractionProblem& p, const target::Target& target,
                    const WinogradPlan& plan) {
  const int64_t most =
      p.Batches() * LargestUpTo(Groups(), plan.tiles()) * LargestUpTo(ColumnChunks(), plan.panels);
  const int64_t wanted = std::min<int64_t>(target.cpu().threads, most);
  return wanted <= 2 ? wanted : std::clamp<int64_t>(wanted / 4, 2, 8);
}

bool Suits(const RowAxis& axis) {
  return axis.dim >= 0 && axis.taps == 3 && axis.stride == 1 && axis.dilation == 1;
}

std::optional<ContractionProblem> FindProblem(const graph::Workload& workload) {
  if (workload.tolerance() < kTolerance2) return std::nullopt;
  std::optional<ContractionProblem> p = FindContraction(workload);
  if (!p || !p->convolution || !p->column_is_weight) return std::nullopt;
  if (p->row_dtype != DType::kF32 || p->column_dtype != DType::kF32) return std::nullopt;
  if (!Suits(p->inner) || !Suits(p->outer[1]) || p->outer[0].dim >= 0) return std::nullopt;
  if (p->depth < kMinChannels || p->columns < kMinChannels) return std::nullopt;
  if (CeilDiv(p->outer[1].out, 2) * CeilDiv(p->inner.out, 2) < kMinTiles) return std::nullopt;
  const bool grouped =
      p->batch_count > 0 && p->batch[static_cast<size_t>(p->batch_count - 1)].group;
  if (grouped) return std::nullopt;
  return p;
}

WinogradPlan MakePlan(const ContractionProblem& p, const target::Target& target,
                      const Config& config) {
  WinogradPlan plan;
  plan.lanes = target.cpu().Lanes(DType::kF32);
  plan.m = static_cast<int>(config["m"]);
  plan.rows = static_cast<int>(config["mr"]);
  plan.vectors = static_cast<int>(config["nr"]);
  plan.unroll = static_cast<int>(config["unroll"]);
  plan.column_chunks = config["col_chunks"];
  plan.tiles_high = CeilDiv(p.outer[1].out, plan.m);
  plan.tiles_wide = CeilDiv(p.inner.out, plan.m);
  // Of whole tiles, which may be fewer groups than were asked for.
  plan.group_tiles = CeilDiv(plan.tiles(), config["groups"]);
  plan.groups = CeilDiv(plan.tiles(), plan.group_tiles);
  plan.panels = CeilDiv(p.columns, plan.width());
  // Rows a power of two apart would share few cache sets.
  plan.row_stride = CeilDiv(p.depth, plan.lanes) * plan.lanes + plan.lanes;
  return plan;
}

double ScratchBytes(const WinogradPlan& plan) {
  return 4.0 * static_cast<double>(plan.input_elements() + plan.product_elements());
}

bool FitsCache(const target::Target& target, const WinogradPlan& plan) {
  return ScratchBytes(plan) <= 2 * static_cast<double>(target.cpu().l2_bytes);
}

// Whether images are small enough for what the knobs offer.
bool FitsInGroups(const ContractionProblem& p, const target::Target& target) {
  const Config finest = {"winograd",
                         1,
                         {{"m", 2},
                          {"mr", 1},
                          {"nr", 1},
                          {"groups", Groups().back()},
                          {"col_chunks", 1},
                          {"unroll", 1}}};
  return FitsCache(target, MakePlan(p, target, finest));
}

// Whether fewer groups of the domain would be cut alike.
bool HasFewerGroupsAlike(const WinogradPlan& plan, int64_t asked) {
  return std::any_of(Groups().begin(), Groups().end(), [&](int64_t groups) {
    return groups < asked && CeilDiv(plan.tiles(), groups) == plan.group_tiles;
  });
}

RejectReason CheckPlan(const ContractionProblem& p, const target::Target& target, double tolerance,
                       const WinogradPlan& plan, int64_t asked_groups) {
  if (plan.m == 4 && tolerance < kTolerance4) return RejectReason::kTolerance;
  const int64_t chains = int64_t{plan.rows} * plan.vectors;
  if (chains + plan.vectors + 1 > target.cpu().vector_registers()) return RejectReason::kRegisters;
  if (asked_groups > plan.tiles() || plan.rows > plan.group_tiles ||
      plan.vectors > CeilDiv(p.columns, plan.lanes)) {
    return RejectReason::kTileExceedsShape;
  }
  if (HasFewerGroupsAlike(plan, asked_groups)) return RejectReason::kRedundant;
  const int64_t parts = CeilDiv(plan.group_tiles, plan.rows);
  if (CeilDiv(plan.group_tiles, parts) != plan.rows) return RejectReason::kRedundant;
  const int64_t reachable =
      std::min<int64_t>(8, std::min<int64_t>(plan.group_tiles, 8) * CeilDiv(p.columns, plan.lanes));
  if (chains < reachable) return RejectReason::kTooFewChains;
  if (plan.column_chunks > plan.panels) return RejectReason::kRedundant;
  if (!FitsCache(target, plan)) return RejectReason::kCache;
  const int64_t chunks = p.Batches() * plan.groups * plan.column_chunks;
  if (chunks < LeastChunks(p, target, plan)) return RejectReason::kParallelism;
  if (plan.groups * plan.column_chunks > 16 * target.cpu().threads &&
      p.Flops() < kMinFlops * static_cast<double>(chunks)) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

KernelFacts PlanFacts(const graph::Workload& workload, const ContractionProblem& p,
                      const target::Target& target, const WinogradPlan& plan) {
  KernelFacts f;
  const auto tiles = static_cast<double>(p.Batches() * plan.tiles());
  const auto size = static_cast<double>(plan.m + 2);
  const auto frequencies = static_cast<double>(plan.frequencies());
  const auto depth = static_cast<double>(p.depth);
  const auto padded = static_cast<double>(plan.panels * plan.width());
  const auto split = static_cast<double>(plan.column_chunks);
  const double products = 2 * frequencies * tiles * depth * padded;
  const double transforms = tiles * 2 * size * size * size * 2 * (depth * split + padded);
  f.useful_flops = p.Flops();
  f.flops = products + transforms;
  f.lane_fill = static_cast<double>(p.columns) / padded;
  const auto group_tiles = static_cast<double>(plan.tiles()) / static_cast<double>(plan.groups);
  const double rows = group_tiles / std::ceil(group_tiles / static_cast<double>(plan.rows));
  f.accumulators = rows * plan.vectors;
  f.loads_per_fma = (rows + plan.vectors) / f.accumulators;
  f.inner_trip = depth / plan.unroll;
  const double filter_bytes = 4 * frequencies * depth * padded;
  const double chunk_count = static_cast<double>(p.Batches() * plan.groups) * split;
  f.l1_bytes = products / 2 / plan.lanes * 4 * f.loads_per_fma;
  f.l1_set_bytes = rows * depth * 4 + depth * static_cast<double>(plan.width()) * 4;
  f.l2_set_bytes = ScratchBytes(plan) + filter_bytes / split;
  const double transformed = 4 * frequencies * tiles * depth;
  f.l2_bytes = transformed * (1 + static_cast<double>(plan.panels)) * split +
               filter_bytes * static_cast<double>(plan.groups) + 8 * frequencies * tiles * padded;
  f.scratch_bytes = 2 * transformed * split + 8 * frequencies * tiles * padded;
  const bool stays = f.l2_set_bytes < 0.9 * static_cast<double>(target.cpu().l2_bytes);
  f.l3_bytes = (stays ? std::min(static_cast<double>(target.cpu().threads), chunk_count) / split
                      : static_cast<double>(p.Batches() * plan.groups)) *
                   filter_bytes +
               workload.MinBytes();
  f.dram_bytes = workload.MinBytes() + filter_bytes;
  f.parallel_chunks = chunk_count;
  f.imbalance = ChunkImbalance(
      chunk_count, target.cpu().threads,
      LargestPart(plan.tiles(), plan.groups) * LargestPart(plan.panels, plan.column_chunks));
  f.phases = 1;
  f.body_ops = f.accumulators * plan.unroll;
  return f;
}

// Cycles, of which only the order matters: multiply-adds slowed by short chains, and what streams
// from the outer caches.
double CostOf(const KernelFacts& f, const target::WinogradCalibration& core) {
  const double few = std::max(0.0, 1 - f.accumulators / core.chains);
  const double slow = 1 + core.few_chains * std::pow(few, 2) +
                      core.more_loads * std::max(0.0, f.loads_per_fma - core.loads);
  return (f.flops * slow / core.flops + f.l3_bytes / core.l3_bytes + f.l2_bytes / core.l2_bytes) *
         f.imbalance;
}

}  // namespace

bool WinogradFamily::Accepts(const graph::Workload& workload, const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  const std::optional<ContractionProblem> p = FindProblem(workload);
  return p && FitsInGroups(*p, target);
}

std::optional<ContractionProblem> WinogradFamily::Find(const graph::Workload& workload,
                                                       const target::Target&) const {
  return FindProblem(workload);
}

Space WinogradFamily::MakeSpace(const graph::Workload&, const ContractionProblem& p,
                                const target::Target& target) const {
  const int64_t vectors = CeilDiv(p.columns, target.cpu().Lanes(DType::kF32));
  const int64_t tiles = CeilDiv(p.outer[1].out, 2) * CeilDiv(p.inner.out, 2);
  Space space{"winograd", version(), {}};
  space.knobs.push_back({"m", {2, 4}});
  space.knobs.push_back({"mr", UpTo({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, tiles)});
  space.knobs.push_back({"nr", UpTo({1, 2, 3, 4}, vectors)});
  space.knobs.push_back({"groups", UpTo(Groups(), tiles)});
  space.knobs.push_back({"col_chunks", UpTo(ColumnChunks(), vectors)});
  space.knobs.push_back({"unroll", {1, 2, 4}});
  return space;
}

RejectReason WinogradFamily::Check(const graph::Workload& workload, const ContractionProblem& p,
                                   const target::Target& target, const Config& config) const {
  return CheckPlan(p, target, workload.tolerance(), MakePlan(p, target, config), config["groups"]);
}

KernelFacts WinogradFamily::Facts(const graph::Workload& workload, const ContractionProblem& p,
                                  const target::Target& target, const Config& config) const {
  return PlanFacts(workload, p, target, MakePlan(p, target, config));
}

Config WinogradFamily::Default(const graph::Workload& workload, const ContractionProblem& p,
                               const target::Target& target) const {
  const target::WinogradCalibration& core = target::CalibrationOf(target.cpu()).winograd;
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  Config best = config;
  double best_cost = 1e300;
  SetKnob(config, "unroll", 4);
  for (int64_t m : DomainOf(space, "m")) {
    for (int64_t mr : DomainOf(space, "mr")) {
      for (int64_t nr : DomainOf(space, "nr")) {
        for (int64_t groups : DomainOf(space, "groups")) {
          for (int64_t col_chunks : DomainOf(space, "col_chunks")) {
            SetKnob(config, "m", m);
            SetKnob(config, "mr", mr);
            SetKnob(config, "nr", nr);
            SetKnob(config, "groups", groups);
            SetKnob(config, "col_chunks", col_chunks);
            const WinogradPlan plan = MakePlan(p, target, config);
            if (CheckPlan(p, target, workload.tolerance(), plan, groups) != RejectReason::kNone) {
              continue;
            }
            const double cost = CostOf(PlanFacts(workload, p, target, plan), core);
            if (cost < best_cost) {
              best_cost = cost;
              best = config;
            }
          }
        }
      }
    }
  }
  return best;
}

Result<LoweredKernel> WinogradFamily::Lower(const graph::Workload& workload,
                                            const ContractionProblem& p,
                                            const target::Target& target,
                                            const Config& config) const {
  return LowerWinograd(workload, p, MakePlan(p, target, config));
}

}  // namespace mlc::schedule
