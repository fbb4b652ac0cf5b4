// Bilinear samples of images at fractional positions, as weighted sums of gathered rows. An image
// is a matrix with one row per pixel and one column per channel. Not thread-safe, as Builder.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// The two pixels next to a position along one axis (i64, inside the image) and their weights (f32).
// All have the same shape.
struct Neighbours {
  ValueId low = kNoValue;
  ValueId high = kNoValue;
  ValueId low_weight = kNoValue;
  ValueId high_weight = kNoValue;
};

// The longest side of an image whose pixel positions f32 represents exactly.
inline constexpr int64_t kMaxImageSide = int64_t{1} << 24;

// The neighbours of positions `at` (f32, in pixels) in an image of `size` pixels that is padded
// with zeros. REQUIRES: 0 < size <= kMaxImageSide.
Neighbours NeighboursAmongZeros(Builder& b, ValueId at, int64_t size);

// The same, but the border pixel extends one pixel outwards, and positions beyond have weight 0.
Neighbours NeighboursWithinReach(Builder& b, ValueId at, int64_t size);

// The four weighted corner pixels of each sample, each [positions..., channels]. `pixels` is [rows,
// channels]; pixel (y, x) is row `first` + y * width + x (i64). The positions have the broadcast
// shape of `first`, `y` and `x`.
std::vector<ValueId> WeightedCorners(Builder& b, ValueId pixels, ValueId first, const Neighbours& y,
                                     const Neighbours& x, int64_t width);

// The images [N, C, H, W] as rows, [N * H * W, C].
ValueId PixelRows(Builder& b, ValueId images);

}  // namespace mlc::graph::onnx
