#include "compiler/graph/onnx/ops/bilinear.h"

namespace mlc::graph::onnx {
namespace {

ValueId Bounded(Builder& b, ValueId x, double low, double high) {
  return b.Min(b.Max(x, b.ScalarLike(x, low)), b.ScalarLike(x, high));
}

// 1 where low <= x <= high, else 0.
ValueId Within(Builder& b, ValueId x, double low, double high) {
  const ValueId inside =
      b.Apply(ScalarOp::kAnd, {b.Apply(ScalarOp::kLessEqual, {b.ScalarLike(x, low), x}),
                               b.Apply(ScalarOp::kLessEqual, {x, b.ScalarLike(x, high)})});
  return b.Cast(inside, DType::kF32);
}

ValueId Inside(Builder& b, ValueId x, int64_t size) {
  return b.Cast(Bounded(b, x, 0, static_cast<double>(size - 1)), DType::kI64);
}

}  // namespace

Neighbours NeighboursAmongZeros(Builder& b, ValueId at, int64_t size) {
  const double last = static_cast<double>(size - 1);
  // Further outside is as good as just outside, and its distances stay numbers.
  at = Bounded(b, at, -2, last + 2);
  const ValueId low = b.Apply(ScalarOp::kFloor, {at});
  const ValueId high = b.PlusNumber(low, 1.0);
  const ValueId up = b.Minus(at, low);
  Neighbours n;
  n.low = Inside(b, low, size);
  n.high = Inside(b, high, size);
  n.low_weight = b.Times(b.Minus(b.ScalarLike(up, 1), up), Within(b, low, 0, last));
  n.high_weight = b.Times(up, Within(b, high, 0, last));
  return n;
}

Neighbours NeighboursWithinReach(Builder& b, ValueId at, int64_t size) {
  const double last = static_cast<double>(size - 1);
  const ValueId reached = Within(b, at, -1, last + 1);
  at = Bounded(b, at, 0, last);
  const ValueId low = b.Apply(ScalarOp::kFloor, {at});
  const ValueId up = b.Minus(at, low);
  Neighbours n;
  n.low = Inside(b, low, size);
  n.high = Inside(b, b.PlusNumber(low, 1.0), size);
  n.low_weight = b.Times(b.Minus(b.ScalarLike(up, 1), up), reached);
  n.high_weight = b.Times(up, reached);
  return n;
}

std::vector<ValueId> WeightedCorners(Builder& b, ValueId pixels, ValueId first, const Neighbours& y,
                                     const Neighbours& x, int64_t width) {
  std::vector<ValueId> corners;
  for (const bool below : {false, true}) {
    const ValueId line = b.Plus(first, b.Times(below ? y.high : y.low, b.IntScalar(width)));
    for (const bool right : {false, true}) {
      const ValueId row = b.Plus(line, right ? x.high : x.low);
      const ValueId weight =
          b.Times(below ? y.high_weight : y.low_weight, right ? x.high_weight : x.low_weight);
      Dims dims = b.DimsOf(weight);
      dims.push_back(1);
      corners.push_back(
          b.Times(b.Gather(pixels, row, 0), b.Cast(b.Reshape(weight, dims), b.DTypeOf(pixels))));
    }
  }
  return corners;
}

ValueId PixelRows(Builder& b, ValueId images) {
  const Dims d = b.DimsOf(images);
  if (!b.ok() || d.size() != 4) return kNoValue;
  return b.Reshape(b.Transpose(images, {0, 2, 3, 1}), {d[0] * d[2] * d[3], d[1]});
}

}  // namespace mlc::graph::onnx
