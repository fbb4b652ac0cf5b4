#include "compiler/schedule/cpu/contraction/contraction_segments.h"

#include <algorithm>

#include "base/ceil_div.h"

namespace mlc::schedule {
namespace {

std::vector<TapRun> RunsOf(const RowAxis& axis, int64_t start, int rows) {
  std::vector<TapRun> runs;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    // Row i reads input (start + i) * stride - pad + tap * dilation.
    const int64_t first = start * axis.stride - axis.pad + tap * axis.dilation;
    const int64_t low = std::clamp<int64_t>(CeilDiv(-first, axis.stride), 0, rows);
    const int64_t high = std::clamp<int64_t>(CeilDiv(axis.in - first, axis.stride), low, rows);
    if (low == high) continue;
    const TapRun run{tap, tap + 1, static_cast<int>(low), static_cast<int>(high)};
    if (!runs.empty() && runs.back().tap_end == tap && runs.back().row_begin == run.row_begin &&
        runs.back().row_end == run.row_end) {
      ++runs.back().tap_end;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace

int64_t TileCount(const RowAxis& axis, int tile) { return (axis.out + tile - 1) / tile; }

std::vector<TileSegment> MakeSegments(const RowAxis& axis, int tile) {
  const int64_t tiles = TileCount(axis, tile);
  const int64_t small = axis.out / tiles;
  const int64_t larger = axis.out % tiles;  // tiles of one row more come first
  std::vector<TileSegment> segments;
  for (int64_t t = 0; t < tiles; ++t) {
    TileSegment segment;
    segment.begin = t;
    segment.end = t + 1;
    segment.rows = static_cast<int>(small + (t < larger ? 1 : 0));
    segment.origin = t < larger ? 0 : larger;
    segment.runs = RunsOf(axis, segment.origin + t * segment.rows, segment.rows);
    if (!segments.empty() && segments.back().rows == segment.rows &&
        segments.back().origin == segment.origin && segments.back().runs == segment.runs) {
      segments.back().end = t + 1;
    } else {
      segments.push_back(std::move(segment));
    }
  }
  return segments;
}

}  // namespace mlc::schedule
