// DeformConv: a convolution whose taps are moved by offsets that come with the image. The moved
// taps are sampled into rows, which are multiplied by the weights.
#include "compiler/graph/onnx/ops/bilinear.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/ops/window.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxSide = 1 << 20;

struct Deformed {
  Window window;
  Dims x;  // [N, C, H, W]
  Dims w;  // [M, C / groups, kernel]
  int64_t groups = 1;
  int64_t offset_groups = 1;
  Dims out;  // height and width

  int64_t Taps() const { return w[2] * w[3]; }
  // Offset groups, output places and taps, which every sample has one of.
  Dims Places() const { return {x[0], offset_groups, out[0], out[1], w[2], w[3]}; }
};

bool ReadSizes(OpContext& c, Deformed& d) {
  d.x = c.b.DimsOf(c.In(0));
  d.w = c.b.DimsOf(c.In(1));
  d.groups = c.Int("group", 1);
  d.offset_groups = c.Int("offset_group", 1);
  if (!c.ok()) return false;
  if (d.x.size() != 4 || d.w.size() != 4) {
    c.Unsupported("an image without exactly two spatial dimensions");
    return false;
  }
  if (d.groups < 1 || d.offset_groups < 1 || d.x[1] % d.groups != 0 ||
      d.x[1] % d.offset_groups != 0 || d.w[0] % d.groups != 0 || d.w[1] != d.x[1] / d.groups) {
    c.Fail("the groups do not fit image and weights");
    return false;
  }
  if (d.x[0] * d.offset_groups > kMaxSide) {
    c.Unsupported("a batch of this size");
    return false;
  }
  d.window = ReadWindow(c, c.In(0), {d.w[2], d.w[3]});
  if (!c.ok()) return false;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = d.x[i + 2];
    const int64_t slack = size + d.window.pads[i] + d.window.pads[i + 2] - d.window.Reach(i);
    if (size < 1 || size > kMaxSide || slack < 0) {
      c.Fail("the image is empty, too large, or smaller than the kernel");
      return false;
    }
    d.out.push_back(slack / d.window.strides[i] + 1);
  }
  return true;
}

// Where the taps of one axis are looked for: their place in a plain convolution, moved.
ValueId Moved(Builder& b, const Deformed& d, ValueId offset, size_t axis) {
  std::vector<double> starts;
  std::vector<double> taps;
  for (int64_t i = 0; i < d.out[axis]; ++i) {
    starts.push_back(static_cast<double>(i * d.window.strides[axis] - d.window.pads[axis]));
  }
  for (int64_t i = 0; i < d.window.kernel[axis]; ++i) {
    taps.push_back(static_cast<double>(i * d.window.dilations[axis]));
  }
  Dims start_dims(6, 1);
  Dims tap_dims(6, 1);
  start_dims[axis + 2] = d.out[axis];
  tap_dims[axis + 4] = d.window.kernel[axis];
  return b.Plus(b.Plus(offset, b.FloatTensor(DType::kF32, start_dims, starts)),
                b.FloatTensor(DType::kF32, tap_dims, taps));
}

// Part `k` of [N, offset groups, kernel, `parts`, output], with the output before the kernel.
ValueId PartOfTaps(Builder& b, const Deformed& d, ValueId x, int64_t parts, int64_t k) {
  const ValueId split =
      b.Reshape(x, {d.x[0], d.offset_groups, d.Taps(), parts, d.out[0] * d.out[1]});
  const ValueId part = b.Reshape(b.SliceAxis(split, 3, k, 1),
                                 {d.x[0], d.offset_groups, d.Taps(), d.out[0] * d.out[1]});
  return b.Reshape(b.Transpose(part, {0, 1, 3, 2}), d.Places());
}

// Every tap's channels: [N, offset groups, output, kernel, C / offset groups].
ValueId Samples(OpContext& c, const Deformed& d) {
  Builder& b = c.b;
  const int64_t area = d.x[2] * d.x[3];
  const ValueId images =
      b.Reshape(c.In(0), {d.x[0] * d.offset_groups, d.x[1] / d.offset_groups, d.x[2], d.x[3]});
  Dims first;
  for (int64_t i = 0; i < d.x[0] * d.offset_groups; ++i) first.push_back(i * area);
  const ValueId offsets = b.Cast(c.In(2), DType::kF32);
  const Neighbours y =
      NeighboursAmongZeros(b, Moved(b, d, PartOfTaps(b, d, offsets, 2, 0), 0), d.x[2]);
  const Neighbours x =
      NeighboursAmongZeros(b, Moved(b, d, PartOfTaps(b, d, offsets, 2, 1), 1), d.x[3]);
  const std::vector<ValueId> corners = WeightedCorners(
      b, PixelRows(b, images), b.Reshape(b.IntVector(first), {d.x[0], d.offset_groups, 1, 1, 1, 1}),
      y, x, d.x[3]);
  ValueId sum = corners[0];
  for (size_t i = 1; i < corners.size(); ++i) sum = b.Plus(sum, corners[i]);
  if (!c.Has(4)) return sum;
  Dims dims = d.Places();
  dims.push_back(1);
  return b.Times(sum, b.Reshape(PartOfTaps(b, d, c.In(4), 1, 0), dims));
}

// The samples times the weights: [N, M, output].
ValueId Product(Builder& b, const Deformed& d, ValueId samples, ValueId weights) {
  const int64_t area = d.out[0] * d.out[1];
  const int64_t depth = d.Taps() * d.w[1];
  const ValueId split =
      b.Reshape(samples, {d.x[0], d.offset_groups, area, d.Taps(), d.x[1] / d.offset_groups});
  const ValueId whole =
      b.Reshape(b.Transpose(split, {0, 2, 3, 1, 4}), {d.x[0], area, d.Taps(), d.groups, d.w[1]});
  const ValueId rows =
      b.Reshape(b.Transpose(whole, {0, 3, 1, 2, 4}), {d.x[0], d.groups, area, depth});
  const ValueId filters = b.Transpose(
      b.Reshape(weights, {d.groups, d.w[0] / d.groups, d.w[1], d.Taps()}), {0, 3, 2, 1});
  const ValueId product =
      b.MatMul(rows, b.Reshape(filters, {1, d.groups, depth, d.w[0] / d.groups}));
  return b.Reshape(b.Transpose(product, {0, 1, 3, 2}), {d.x[0], d.w[0], d.out[0], d.out[1]});
}

void DeformConv(OpContext& c) {
  Builder& b = c.b;
  Deformed d;
  const ValueId offset = c.In(2);
  if (!ReadSizes(c, d)) return;
  const int64_t taps = d.offset_groups * d.Taps();
  if (b.DimsOf(offset) != Dims{d.x[0], 2 * taps, d.out[0], d.out[1]} ||
      (c.Has(4) && b.DimsOf(c.In(4)) != Dims{d.x[0], taps, d.out[0], d.out[1]})) {
    return c.Fail("the offsets or the mask do not fit image and kernel");
  }
  const ValueId y = Product(b, d, Samples(c, d), c.In(1));
  c.Out(c.Has(3) ? PlusBias(c, y, c.In(3)) : y);
}

constexpr OpRow kDeformConvRows[] = {{"DeformConv", DeformConv, 5, 1, "two spatial dimensions"}};

}  // namespace

std::span<const OpRow> DeformConvOps() { return kDeformConvRows; }

}  // namespace mlc::graph::onnx
