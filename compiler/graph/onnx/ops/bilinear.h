// Samples of images at places between pixels, as weighted sums of gathered rows: an image is a
// matrix of one row a pixel and one column a channel. Not thread-safe, as Builder.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// The two pixels that a place lies between along one axis (i64, inside the image), and the weight
// of each (f32). All have one shape.
struct Neighbours {
  ValueId low = kNoValue;
  ValueId high = kNoValue;
  ValueId low_weight = kNoValue;
  ValueId high_weight = kNoValue;
};

// The longest side of an image whose pixels f32 can tell apart.
inline constexpr int64_t kMaxImageSide = int64_t{1} << 24;

// Of `at` (f32, in pixels) in an image of `size` pixels, surrounded by zeros.
// REQUIRES: 0 < size <= kMaxImageSide.
Neighbours NeighboursAmongZeros(Builder& b, ValueId at, int64_t size);

// The same, where the border reaches one pixel further and everything beyond weighs nothing.
Neighbours NeighboursWithinReach(Builder& b, ValueId at, int64_t size);

// Each of the four weighted pixels of a sample, [places..., channels]. `pixels` is [rows,
// channels], a row y * width + x behind `first` (i64). The places are the shapes of `first`, `y`
// and `x`, broadcast.
std::vector<ValueId> WeightedCorners(Builder& b, ValueId pixels, ValueId first, const Neighbours& y,
                                     const Neighbours& x, int64_t width);

// The images [N, C, H, W] as rows, [N * H * W, C].
ValueId PixelRows(Builder& b, ValueId images);

}  // namespace mlc::graph::onnx
