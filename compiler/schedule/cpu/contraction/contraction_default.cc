// The plan of a contraction that is taken without any search.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/schedule/cpu/contraction/contraction.h"
#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/problem/contraction_space.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {
namespace {

constexpr int64_t kPage = 4096;

bool PagesApart(const ContractionProblem& p, const RowAxis& axis) {
  return axis.stride * axis.row_stride * SizeOf(p.row_dtype) % kPage == 0;
}

// Rows of the tile a multiple of a page apart, over the ways of the first cache's sets: they share
// one.
double SharedWays(const ContractionProblem& p, const target::Target& target,
                  const ContractionPlan& plan) {
  const double ways = static_cast<double>(target.cpu().l1_bytes) / kPage;
  const int inner = PagesApart(p, p.inner) ? plan.inner_rows : 1;
  const int outer = PagesApart(p, p.outer[1]) ? plan.outer_rows : 1;
  return inner * outer / ways;
}

bool RowsCollide(const ContractionProblem& p, const target::Target& target,
                 const ContractionPlan& plan) {
  return SharedWays(p, target, plan) > target::CalibrationOf(target.cpu()).tile.shared_ways;
}

// Share of peak that a register tile reaches when its operands are near: chains must cover the FMA
// latency, broadcasts must fit between.
double TileScore(const ContractionProblem& p, const target::Target& target,
                 const ContractionPlan& plan) {
  const target::TileCalibration& core = target::CalibrationOf(target.cpu()).tile;
  const double inner_tiles = static_cast<double>(TileCount(p.inner, plan.inner_rows));
  const double outer_tiles =
      static_cast<double>(p.outer[1].dim >= 0 ? TileCount(p.outer[1], plan.outer_rows) : 1);
  const double rows =
      static_cast<double>(p.inner.out * p.outer[1].out) / (inner_tiles * outer_tiles);
  const double chains = rows * plan.vectors;
  double score =
      static_cast<double>(p.columns) / static_cast<double>(plan.panels * plan.panel_width());
  score *= 1 - core.few_chains * std::pow(std::max(0.0, 1 - chains / core.chains), 2);
  const double loads = (rows + plan.vectors) / chains;
  score *= 1 - core.more_loads * std::max(0.0, loads - core.loads);
  // Panels from the second cache: few rows leave little time for each of their lines.
  score *= 1 - core.fewer_rows *
                   std::max(0.0, std::min(core.rows, static_cast<double>(p.Rows())) - rows);
  if (RowsCollide(p, target, plan)) score *= core.colliding;
  // Far more rows than ways: every step of k waits for the second cache.
  score /= 1 + core.waiting * std::max(0.0, SharedWays(p, target, plan) - core.many_ways);
  if (plan.inner_rows > core.inner_rows) score *= core.more_inner_rows;
  return score;
}

// How k is walked once the tile is known.
void ChooseStreams(const ContractionProblem& p, const target::Target& target, const Space& space,
                   Config& config) {
  const auto l2 = static_cast<double>(target.cpu().l2_bytes);
  const double weights = static_cast<double>(p.K() * p.columns) * p.ColumnBytes();
  ContractionPlan plan = MakePlan(p, target, config);
  // Small weights stay in the caches and rows are read once; others are read once themselves.
  const bool rows_first = weights < (p.column_is_weight ? 0.1 : 0.4) * l2;
  SetKnob(config, "rows_first", rows_first ? 1 : 0);
  SetKnob(config, "unroll", p.depth >= 4 ? 4 : 1);
  const double panel = static_cast<double>(p.K() * plan.panel_width()) * 4;
  const bool far_panel = panel > 0.4 * static_cast<double>(target.cpu().l1_bytes);
  SetKnob(config, "prefetch", !rows_first && far_panel && plan.vectors < 4 && p.depth > 64 ? 8 : 0);
  const double rows = static_cast<double>(p.Rows() * p.depth) * 4;
  const std::vector<int64_t>& passes = DomainOf(space, "k_chunk");
  // Rows and two panels share the second cache; where they do not fit, a pass takes a part of k.
  // A short pass also leaves the first cache to the rows, whatever sets they share.
  const bool collide = RowsCollide(p, target, plan);
  if (!rows_first && (collide || rows + 2 * panel > 0.8 * l2)) {
    SetKnob(config, "k_chunk", passes.back());
  } else if (collide) {
    SetKnob(config, "stage", DomainOf(space, "stage").back());
  }
}

// The tile with the best score. Chunks come later, so too few of them are no fault.
Config BestTile(const ContractionProblem& p, const target::Target& target, const Space& space) {
  const double copied_rows = target::CalibrationOf(target.cpu()).tile.copied_rows;
  Config config = space.At(0);
  Config best = config;
  double best_score = -1;
  for (int64_t mr : DomainOf(space, "mr")) {
    for (int64_t mh : DomainOf(space, "mh")) {
      for (int64_t nr : DomainOf(space, "nr")) {
        for (int64_t pack : DomainOf(space, "pack")) {
          SetKnob(config, "mr", mr);
          SetKnob(config, "mh", mh);
          SetKnob(config, "nr", nr);
          SetKnob(config, "pack", pack);
          const ContractionPlan plan = MakePlan(p, target, config);
          const RejectReason reason = CheckPlan(p, target, plan);
          if (reason != RejectReason::kNone && reason != RejectReason::kParallelism) continue;
          const double copies =
              plan.pack && !p.column_is_weight && p.Rows() < 64 ? copied_rows : 1.0;
          const double score = TileScore(p, target, plan) * copies;
          if (score > best_score) {
            best_score = score;
            best = config;
          }
        }
      }
    }
  }
  return best;
}

// Rows from which on a panel of packed columns is decoded once for all of them.
constexpr int64_t kDecodedRows = 48;

void ChooseDecoding(const ContractionProblem& p, const Space& space, Config& config) {
  if (!p.IsPacked() || p.Rows() < kDecodedRows) return;
  SetKnob(config, "decode", DomainOf(space, "decode").back());
  SetKnob(config, "rows_first", 0);
  SetKnob(config, "prefetch", 0);
}

// The larger of both operands is read once, chunks suffice for the threads. Nothing if no split of
// the tile is legal.
std::optional<Config> BestSplit(const graph::Workload& workload, const ContractionProblem& p,
                                const target::Target& target, const Space& space, Config config) {
  const double weights =
      p.column_is_weight ? static_cast<double>(p.K() * p.columns) * p.ColumnBytes() : 0;
  const target::SplitCalibration& core = target::CalibrationOf(target.cpu()).split;
  double best_cost = std::numeric_limits<double>::infinity();
  std::optional<Config> best;
  for (int64_t row_chunks : DomainOf(space, "row_chunks")) {
    for (int64_t column_chunks : DomainOf(space, "col_chunks")) {
      SetKnob(config, "row_chunks", row_chunks);
      SetKnob(config, "col_chunks", column_chunks);
      const ContractionPlan plan = MakePlan(p, target, config);
      if (CheckPlan(p, target, plan) != RejectReason::kNone) continue;
      const KernelFacts facts = PlanFacts(workload, p, target, plan);
      const double cost = facts.flops / core.flops * facts.imbalance + facts.l3_bytes / core.bytes +
                          core.chunk_ns * facts.parallel_chunks +
                          weights / core.bytes * static_cast<double>(row_chunks);
      if (cost < best_cost) {
        best_cost = cost;
        best = config;
      }
    }
  }
  return best;
}

}  // namespace

Config ContractionFamily::Default(const graph::Workload& workload, const ContractionProblem& p,
                                  const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = BestTile(p, target, space);
  ChooseStreams(p, target, space, config);
  ChooseDecoding(p, space, config);
  std::optional<Config> split = BestSplit(workload, p, target, space, config);
  if (!split) {
    // Partial sums or copies of so many rows exceed the second cache.
    SetKnob(config, "k_chunk", 0);
    SetKnob(config, "stage", 0);
    split = BestSplit(workload, p, target, space, config);
  }
  if (!split && p.IsPacked()) {
    SetKnob(config, "decode", 0);
    split = BestSplit(workload, p, target, space, config);
  }
  if (split) config = *std::move(split);
  // The next panel comes from memory while this one is multiplied.
  Config prefetching = config;
  SetKnob(prefetching, "prefetch_panel", DomainOf(space, "prefetch_panel").back());
  const bool legal = CheckPlan(p, target, MakePlan(p, target, prefetching)) == RejectReason::kNone;
  return legal ? prefetching : config;
}

}  // namespace mlc::schedule
