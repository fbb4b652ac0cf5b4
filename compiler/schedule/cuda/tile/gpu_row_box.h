// Tiles of rows that are boxes of positions: so many images, rows and columns of an image, and so
// on, rather than neighbours in the flat row index. All positions of a box have their input at a
// tap in one box, too. Values; functions that take a builder append to it.
#pragma once

#include <array>
#include <cstdint>

#include "compiler/schedule/cuda/tile/gpu_tile.h"

namespace mlc::schedule {

// Positions of each row part. The default is no box: rows of a tile are neighbours.
struct RowBox {
  std::array<int, GpuContraction::kMaxParts> sizes = {};
  bool past = false;  // there are tiles behind the last one, all outside

  bool IsBox() const { return sizes[0] != 0; }
};

// The first position of a tile in each row part.
using BoxPlace = std::array<ir::ExprRef, GpuContraction::kMaxParts>;

// Of all boxes of so many positions one that takes the fewest tiles, and of these one with the
// longest runs of neighbours.
RowBox BestBox(const GpuContraction& g, int positions);
int64_t BoxTiles(const GpuContraction& g, const RowBox& box);
// The outermost part of more than one position, or -1.
int OutermostOf(const GpuContraction& g, const RowBox& box);

BoxPlace PlaceBox(ir::KernelBuilder& b, const GpuContraction& g, const RowBox& box,
                  const ir::ExprRef& tile);
// The position in each row part of a row of the tile at `first`.
BoxPlace PositionIn(ir::KernelBuilder& b, const GpuContraction& g, const RowBox& box,
                    const BoxPlace& first, const ir::ExprRef& row);
// Whether it is one of the problem's: a bool, or null if it always is.
ir::ExprRef PositionInside(const GpuContraction& g, const RowBox& box, const BoxPlace& position);

}  // namespace mlc::schedule
