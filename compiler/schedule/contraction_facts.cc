// What a contraction plan implies, and the plan taken without any search.
#include <algorithm>
#include <cmath>

#include "compiler/schedule/contraction.h"
#include "compiler/schedule/contraction_pack.h"
#include "compiler/schedule/contraction_segments.h"
#include "compiler/schedule/contraction_space.h"

namespace mlc::schedule {
namespace {

// Taps that fall inside the input, over taps times outputs: what padding leaves to multiply.
double InsideShare(const RowAxis& axis) {
  if (axis.Trivial()) return 1;
  int64_t inside = 0;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t first = tap * axis.dilation - axis.pad;
    const int64_t low = first >= 0 ? 0 : (-first + axis.stride - 1) / axis.stride;
    const int64_t span = axis.in - first;
    const int64_t high = span <= 0 ? 0 : (span + axis.stride - 1) / axis.stride;
    inside += std::max<int64_t>(0, std::min(high, axis.out) - low);
  }
  return static_cast<double>(inside) / static_cast<double>(axis.taps * axis.out);
}

double ChunkImbalance(double chunks, double threads) {
  return std::ceil(chunks / threads) * threads / chunks;
}

}  // namespace

KernelFacts PlanFacts(const graph::Workload& workload, const ContractionProblem& p,
                      const target::Target& target, const ContractionPlan& plan) {
  KernelFacts f;
  const double inside = InsideShare(p.inner) * InsideShare(p.outer[0]) * InsideShare(p.outer[1]);
  const double width = static_cast<double>(plan.panel_width());
  const auto panels = static_cast<double>(plan.panels);
  const auto columns = static_cast<double>(p.columns);
  const auto batches = static_cast<double>(p.Batches());
  f.useful_flops = p.Flops();
  f.lane_fill = columns / (panels * width);
  f.flops = p.Flops() * inside / f.lane_fill;
  // Tiles are cut evenly, so their mean size counts, not the largest.
  const double inner_tiles = static_cast<double>(TileCount(p.inner, plan.inner_rows));
  const double outer_tiles =
      static_cast<double>(p.outer[1].dim >= 0 ? TileCount(p.outer[1], plan.outer_rows) : 1);
  const double mean_rows =
      static_cast<double>(p.inner.out * p.outer[1].out) / (inner_tiles * outer_tiles);
  f.accumulators = mean_rows * plan.vectors;
  f.loads_per_fma = (mean_rows + plan.vectors) / f.accumulators;
  f.inner_trip = static_cast<double>(p.depth) / plan.unroll;
  const double tiles = batches * static_cast<double>(p.outer[0].out) * outer_tiles * inner_tiles;
  const double k = static_cast<double>(p.K()) * inside;
  const double panel_bytes = static_cast<double>(p.K()) * width * 4;
  const double row_tile_bytes = mean_rows * static_cast<double>(p.K()) * 4;
  f.l1_bytes = tiles * panels * k * (mean_rows + width) * 4;
  f.l1_set_bytes = plan.rows_first ? row_tile_bytes : panel_bytes;
  const double weights_bytes = static_cast<double>(ColumnBatches(p)) * panels * panel_bytes;
  const double chunk_tiles = tiles / (batches * static_cast<double>(p.outer[0].out)) /
                             static_cast<double>(plan.row_chunks);
  const double chunk_panels = panels / static_cast<double>(plan.column_chunks);
  const double taps = std::max(
      1.0, static_cast<double>(p.Taps()) / static_cast<double>(p.inner.stride * p.outer[1].stride));
  const double row_block = chunk_tiles * row_tile_bytes / taps;
  const double column_block = chunk_panels * panel_bytes;
  // Panels that stay in L1 across the tiles of a chunk are read from L2 once.
  const bool panel_stays =
      !plan.rows_first && panel_bytes < 0.6 * static_cast<double>(target.l1_bytes);
  const bool rows_stay =
      plan.rows_first && row_tile_bytes < 0.6 * static_cast<double>(target.l1_bytes);
  f.l2_bytes = tiles * panels * panel_bytes / (panel_stays ? std::max(1.0, chunk_tiles) : 1.0) +
               tiles * panels * row_tile_bytes / (rows_stay ? std::max(1.0, chunk_panels) : 1.0);
  f.l2_set_bytes = plan.rows_first
                       ? column_block + row_tile_bytes
                       : (row_block + panel_bytes) / static_cast<double>(plan.passes(p));
  const bool stays = f.l2_set_bytes < 0.8 * static_cast<double>(target.l2_bytes);
  const double chunks = static_cast<double>(plan.parallel_chunks(p));
  f.l3_bytes = stays
                   ? chunks * (row_block + column_block)
                   : std::min(f.l2_bytes,
                              chunks * (plan.rows_first ? chunk_tiles * column_block + row_block
                                                        : chunk_panels * row_block + column_block));
  f.dram_bytes = workload.MinBytes();
  f.scratch_bytes = plan.pack && !p.column_is_weight ? 2 * weights_bytes : 0;
  f.phases = f.scratch_bytes > 0 ? 2 : 1;
  const double outputs = batches * static_cast<double>(p.Rows()) * panels * width;
  f.scratch_bytes += static_cast<double>(plan.passes(p) - 1) * 8 * outputs;
  if (plan.stage) f.scratch_bytes += 8 * chunks * chunk_tiles * row_tile_bytes / 4;
  f.parallel_chunks = chunks;
  f.imbalance = ChunkImbalance(chunks, static_cast<double>(target.threads));
  f.body_ops = f.accumulators * plan.unroll;
  return f;
}

namespace {

constexpr int64_t kPage = 4096;

bool PagesApart(const ContractionProblem& p, const RowAxis& axis) {
  return axis.stride * axis.row_stride * SizeOf(p.row_dtype) % kPage == 0;
}

// Rows of the tile a multiple of a page apart, over the ways of the first cache's sets: they share
// one.
double SharedWays(const ContractionProblem& p, const target::Target& target,
                  const ContractionPlan& plan) {
  const double ways = static_cast<double>(target.l1_bytes) / kPage;
  const int inner = PagesApart(p, p.inner) ? plan.inner_rows : 1;
  const int outer = PagesApart(p, p.outer[1]) ? plan.outer_rows : 1;
  return inner * outer / ways;
}

bool RowsCollide(const ContractionProblem& p, const target::Target& target,
                 const ContractionPlan& plan) {
  return SharedWays(p, target, plan) > 2.0 / 3;
}

// Share of peak that a register tile reaches when its operands are near, from measurements of an
// AVX-512 core: chains must cover the FMA latency, broadcasts must fit between.
double TileScore(const ContractionProblem& p, const target::Target& target,
                 const ContractionPlan& plan) {
  const double inner_tiles = static_cast<double>(TileCount(p.inner, plan.inner_rows));
  const double outer_tiles =
      static_cast<double>(p.outer[1].dim >= 0 ? TileCount(p.outer[1], plan.outer_rows) : 1);
  const double rows =
      static_cast<double>(p.inner.out * p.outer[1].out) / (inner_tiles * outer_tiles);
  const double chains = rows * plan.vectors;
  const double wanted = target.vector_registers() >= 32 ? 26 : 10;
  double score =
      static_cast<double>(p.columns) / static_cast<double>(plan.panels * plan.panel_width());
  score *= 1 - 0.35 * std::pow(std::max(0.0, 1 - chains / wanted), 2);
  const double loads = (rows + plan.vectors) / chains;
  score *= 1 - 0.12 * std::max(0.0, loads - 0.55);
  // Panels from the second cache: few rows leave little time for each of their lines.
  score *= 1 - 0.005 * std::max(0.0, std::min(12.0, static_cast<double>(p.Rows())) - rows);
  if (RowsCollide(p, target, plan)) score *= 0.985;
  // Far more rows than ways: every step of k waits for the second cache.
  score /= 1 + 6 * std::max(0.0, SharedWays(p, target, plan) - 1.2);
  if (plan.inner_rows > 16) score *= 0.92;
  return score;
}

// How k is walked once the tile is known.
void ChooseStreams(const ContractionProblem& p, const target::Target& target, const Space& space,
                   Config& config) {
  const auto l2 = static_cast<double>(target.l2_bytes);
  const double weights = static_cast<double>(p.K() * p.columns) * 4;
  ContractionPlan plan = MakePlan(p, target, config);
  // Small weights stay in the caches and rows are read once; others are read once themselves.
  const bool rows_first = weights < (p.column_is_weight ? 0.1 : 0.4) * l2;
  SetKnob(config, "rows_first", rows_first ? 1 : 0);
  SetKnob(config, "unroll", p.depth >= 4 ? 4 : 1);
  const double panel = static_cast<double>(p.K() * plan.panel_width()) * 4;
  const bool far_panel = panel > 0.4 * static_cast<double>(target.l1_bytes);
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

}  // namespace

Config ContractionFamily::Default(const graph::Workload& workload,
                                  const target::Target& target) const {
  const ContractionProblem p = *FindContraction(workload);
  const Space space = MakeSpace(workload, target);
  Config config = space.At(0);
  const auto set = [&](std::string_view knob, int64_t value) { SetKnob(config, knob, value); };
  const auto domain = [&](std::string_view knob) -> const std::vector<int64_t>& {
    return DomainOf(space, knob);
  };
  // The tile first.
  Config best = config;
  double best_score = -1;
  for (int64_t mr : domain("mr")) {
    for (int64_t mh : domain("mh")) {
      for (int64_t nr : domain("nr")) {
        for (int64_t pack : domain("pack")) {
          set("mr", mr);
          set("mh", mh);
          set("nr", nr);
          set("pack", pack);
          const ContractionPlan plan = MakePlan(p, target, config);
          const RejectReason reason = CheckPlan(p, target, plan);
          if (reason != RejectReason::kNone && reason != RejectReason::kParallelism) continue;
          const double copies = plan.pack && !p.column_is_weight && p.Rows() < 64 ? 0.8 : 1.0;
          const double score = TileScore(p, target, plan) * copies;
          if (score > best_score) {
            best_score = score;
            best = config;
          }
        }
      }
    }
  }
  // Then the split: the larger of both operands is read once, chunks suffice for the threads.
  config = best;
  ChooseStreams(p, target, space, config);
  const double weights = p.column_is_weight ? static_cast<double>(p.K() * p.columns) * 4 : 0;
  double best_cost = 1e300;
  best = config;
  for (int64_t row_chunks : domain("row_chunks")) {
    for (int64_t column_chunks : domain("col_chunks")) {
      set("row_chunks", row_chunks);
      set("col_chunks", column_chunks);
      const ContractionPlan plan = MakePlan(p, target, config);
      if (CheckPlan(p, target, plan) != RejectReason::kNone) continue;
      const KernelFacts facts = PlanFacts(workload, p, target, plan);
      const double cost = facts.flops / 64 * facts.imbalance + facts.l3_bytes / 8 +
                          500 * facts.parallel_chunks +
                          weights / 8 * static_cast<double>(row_chunks);
      if (cost < best_cost) {
        best_cost = cost;
        best = config;
      }
    }
  }
  config = best;
  // The next panel comes from memory while this one is multiplied.
  set("ahead", DomainOf(space, "ahead").back());
  if (CheckPlan(p, target, MakePlan(p, target, config)) == RejectReason::kNone) return config;
  return best;
}

}  // namespace mlc::schedule
