// RoiAlign: every box of an image, sampled on a grid of its own and pooled.
#include <algorithm>

#include "compiler/graph/onnx/ops/bilinear.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxSide = 1 << 12;

struct Pooling {
  int64_t height = 1;
  int64_t width = 1;
  int64_t samples = 1;  // of a bin, along each axis
  double scale = 1;
  bool half_pixel = true;
  bool max = false;
};

Pooling ReadPooling(OpContext& c) {
  Pooling p;
  p.height = c.Int("output_height", 1);
  p.width = c.Int("output_width", 1);
  p.samples = c.Int("sampling_ratio", 0);
  p.scale = c.Float("spatial_scale", 1);
  const bool older = c.opset() < 16;
  const std::string coordinates =
      c.Text("coordinate_transformation_mode", older ? "output_half_pixel" : "half_pixel");
  const std::string mode = c.Text("mode", "avg");
  p.half_pixel = coordinates == "half_pixel";
  p.max = mode == "max";
  if (!p.half_pixel && coordinates != "output_half_pixel") {
    c.Fail("coordinate_transformation_mode must be half_pixel or output_half_pixel");
  }
  if (!p.max && mode != "avg") c.Fail("the mode must be avg or max");
  const auto fits = [](int64_t n, int64_t least) { return n >= least && n <= kMaxSide; };
  if (!fits(p.height, 1) || !fits(p.width, 1) || !fits(p.samples, 0)) {
    c.Fail("an output size or sampling_ratio is out of range");
  } else if (std::max(p.height, p.width) * p.samples > kMaxSide) {
    c.Unsupported("this number of samples");
  } else if (p.samples == 0) {
    c.Unsupported("sampling_ratio=0, where the boxes decide how many samples are taken,");
  }
  return p;
}

// The places of all samples along one axis, [boxes, bins * samples]. `boxes` are [n, 4].
ValueId Places(Builder& b, ValueId boxes, int64_t axis, int64_t bins, const Pooling& p) {
  const auto corner = [&](int64_t column) {
    return b.PlusNumber(b.TimesNumber(b.SliceAxis(boxes, 1, column, 1), p.scale),
                        p.half_pixel ? -0.5 : 0.0);
  };
  const ValueId start = corner(axis);
  ValueId size = b.Minus(corner(axis + 2), start);
  if (!p.half_pixel) size = b.Max(size, b.ScalarLike(size, 1));
  std::vector<double> parts;
  for (int64_t i = 0; i < bins * p.samples; ++i) {
    parts.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(bins * p.samples));
  }
  const auto count = static_cast<int64_t>(parts.size());
  return b.Plus(start, b.Times(size, b.FloatTensor(DType::kF32, {1, count}, parts)));
}

// As one axis of [boxes, height, width].
Neighbours Along(Builder& b, Neighbours n, size_t axis) {
  for (ValueId* v : {&n.low, &n.high, &n.low_weight, &n.high_weight}) {
    Dims dims = {b.Dim(*v, 0), 1, 1};
    dims[axis] = b.Dim(*v, 1);
    *v = b.Reshape(*v, dims);
  }
  return n;
}

void RoiAlign(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId rois = c.In(1);
  const ValueId images = c.In(2);
  const Pooling p = ReadPooling(c);
  if (!c.ok()) return;
  const Dims d = b.DimsOf(x);
  const int64_t count = b.Dim(rois, 0);
  if (d.size() != 4 || b.DimsOf(rois) != Dims{count, 4} || b.DimsOf(images) != Dims{count}) {
    return c.Fail("images, boxes and batch_indices do not fit each other");
  }
  if (d[2] < 1 || d[3] < 1 || d[2] > kMaxImageSide || d[3] > kMaxImageSide) {
    return c.Fail("the image is empty or too large");
  }
  const ValueId boxes = b.Cast(rois, DType::kF32);
  const Neighbours across = NeighboursWithinReach(b, Places(b, boxes, 0, p.width, p), d[3]);
  const Neighbours down = NeighboursWithinReach(b, Places(b, boxes, 1, p.height, p), d[2]);
  const ValueId first =
      b.Times(b.Reshape(b.Cast(images, DType::kI64), {count, 1, 1}), b.IntScalar(d[2] * d[3]));
  const std::vector<ValueId> corners =
      WeightedCorners(b, PixelRows(b, x), first, Along(b, down, 1), Along(b, across, 2), d[3]);
  ValueId sample = kNoValue;
  for (const ValueId corner : corners) {
    sample = sample == kNoValue ? corner : p.max ? b.Max(sample, corner) : b.Plus(sample, corner);
  }
  const ValueId bins = b.Reshape(sample, {count, p.height, p.samples, p.width, p.samples, d[1]});
  c.Out(b.Transpose(b.Reduce(p.max ? "max" : "mean", bins, {2, 4}, false), {0, 3, 1, 2}));
}

constexpr OpRow kRoiAlignRows[] = {{"RoiAlign", RoiAlign, 3, 1, "sampling_ratio above 0"}};

}  // namespace

std::span<const OpRow> RoiAlignOps() { return kRoiAlignRows; }

}  // namespace mlc::graph::onnx
