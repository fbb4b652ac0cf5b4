// Cuts an axis of outputs into tiles and finds the taps that each tile needs. Padding costs
// nothing: tiles at the edges are separate variants, which never multiply a tap outside the input.
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

// The taps [tap_begin, tap_end) need exactly the rows [row_begin, row_end) of a tile.
struct TapRun {
  int64_t tap_begin = 0;
  int64_t tap_end = 0;
  int row_begin = 0;
  int row_end = 0;
  friend bool operator==(const TapRun&, const TapRun&) = default;
};

// Tiles [begin, end) have the same size and runs; tile t starts at output origin + t * rows.
struct TileSegment {
  int64_t begin = 0;
  int64_t end = 0;
  int rows = 0;
  int64_t origin = 0;
  std::vector<TapRun> runs;
};

// Tiles of an axis cut into pieces of at most `tile`: sizes differ by at most one.
int64_t TileCount(const RowAxis& axis, int tile);
std::vector<TileSegment> MakeSegments(const RowAxis& axis, int tile);

}  // namespace mlc::schedule
