// What a contraction plan implies.
#include <algorithm>

#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/contraction/contraction.h"
#include "compiler/schedule/cpu/contraction/contraction_pack.h"
#include "compiler/schedule/cpu/contraction/contraction_segments.h"

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

// Instructions that make a vector of numbers of packed columns, in flops of its lanes.
constexpr double kDecodeFlops = 5;

// What packed columns add: every row tile decodes a panel again, or every chunk of row tiles does.
void AddDecoding(const ContractionProblem& p, const ContractionPlan& plan, double tiles,
                 KernelFacts& f) {
  const double stored = static_cast<double>(p.K() * plan.panel_width() * plan.panels);
  const double times = plan.decode ? static_cast<double>(plan.row_chunks) : tiles;
  f.flops += kDecodeFlops * times * stored;
  if (plan.decode) f.scratch_bytes += 8 * times * stored;
}

// Tiles and panels of the largest chunk.
double LargestChunk(const ContractionPlan& plan) {
  return LargestPart(plan.row_units, plan.row_chunks) *
         LargestPart(plan.panels, plan.column_chunks);
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
  const double column_bytes = plan.decode ? 4 : p.ColumnBytes();
  const double panel_bytes = static_cast<double>(p.K()) * width * column_bytes;
  const double row_tile_bytes = mean_rows * static_cast<double>(p.K()) * 4;
  f.l1_bytes = tiles * panels * k * (mean_rows * 4 + width * column_bytes);
  f.l1_set_bytes = plan.rows_first ? row_tile_bytes : panel_bytes;
  const double weights_bytes = static_cast<double>(ColumnBatches(p)) * panels * panel_bytes;
  const double chunk_tiles = tiles / (batches * static_cast<double>(p.outer[0].out)) /
                             static_cast<double>(plan.row_chunks);
  const double chunk_panels = panels / static_cast<double>(plan.column_chunks);
  const double taps = std::max(
      1.0, static_cast<double>(p.Taps()) / static_cast<double>(p.inner.stride * p.outer[1].stride));
  const double row_block = chunk_tiles * row_tile_bytes / taps;
  const double column_block = chunk_panels * (static_cast<double>(p.K()) * width * p.ColumnBytes());
  // Panels that stay in L1 across the tiles of a chunk are read from L2 once.
  const bool panel_stays =
      !plan.rows_first && panel_bytes < 0.6 * static_cast<double>(target.cpu().l1_bytes);
  const bool rows_stay =
      plan.rows_first && row_tile_bytes < 0.6 * static_cast<double>(target.cpu().l1_bytes);
  f.l2_bytes = tiles * panels * panel_bytes / (panel_stays ? std::max(1.0, chunk_tiles) : 1.0) +
               tiles * panels * row_tile_bytes / (rows_stay ? std::max(1.0, chunk_panels) : 1.0);
  f.l2_set_bytes = plan.rows_first
                       ? column_block + row_tile_bytes
                       : (row_block + panel_bytes) / static_cast<double>(plan.passes(p));
  const bool stays = f.l2_set_bytes < 0.8 * static_cast<double>(target.cpu().l2_bytes);
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
  if (p.IsPacked()) AddDecoding(p, plan, tiles, f);
  if (plan.stage) f.scratch_bytes += 8 * chunks * chunk_tiles * row_tile_bytes / 4;
  f.parallel_chunks = chunks;
  f.imbalance = ChunkImbalance(chunks, target.cpu().threads, LargestChunk(plan));
  f.body_ops = f.accumulators * plan.unroll;
  return f;
}

}  // namespace mlc::schedule
