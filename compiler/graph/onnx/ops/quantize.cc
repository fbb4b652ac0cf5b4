// Quantisation as the arithmetic it stands for: casts, scales and rounding.
#include <utility>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/quantize.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

std::pair<double, double> RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {-128, 127};
    case DType::kI16:
      return {-32768, 32767};
    default:
      return {0, 255};
  }
}

}  // namespace

ValueId Quantized(Builder& b, ValueId x, ValueId scale, ValueId zero, DType to) {
  const auto [low, high] = RangeOf(to);
  ValueId y = b.Apply(ScalarOp::kRound, {b.Over(x, scale)});
  if (zero != kNoValue) y = b.Plus(y, b.Cast(zero, b.DTypeOf(y)));
  y = b.Min(b.Max(y, b.ScalarLike(y, low)), b.ScalarLike(y, high));
  return b.Cast(y, to);
}

DynamicQuantisation QuantizedByRange(Builder& b, ValueId x) {
  Dims axes;
  for (int64_t i = 0; i < b.RankOf(x); ++i) axes.push_back(i);
  const ValueId nought = b.ScalarLike(x, 0);
  const ValueId high = b.Max(b.Reduce("max", x, axes, false), nought);
  const ValueId low = b.Min(b.Reduce("min", x, axes, false), nought);
  // In double precision, so that no bit depends on how the division is done.
  const ValueId wide = b.Cast(b.Minus(high, low), DType::kF64);
  const ValueId scale = b.Cast(b.TimesNumber(wide, 1.0 / 255), DType::kF32);
  const ValueId start = b.Apply(ScalarOp::kNeg, {b.Over(low, scale)});
  const ValueId bounded = b.Min(b.Max(start, nought), b.ScalarLike(x, 255));
  const ValueId zero = b.Cast(b.Apply(ScalarOp::kRound, {bounded}), DType::kU8);
  return {Quantized(b, x, scale, zero, DType::kU8), scale, zero};
}

namespace {

// One parameter a block of `block` elements along the axis, repeated to one an element.
ValueId RepeatBlocks(OpContext& c, ValueId x, ValueId parameter, int64_t axis, int64_t block) {
  Builder& b = c.b;
  const Dims dims = b.DimsOf(x);
  const size_t at = static_cast<size_t>(axis);
  if (block < 1 || block > dims[at]) {
    c.Fail("block_size does not fit the axis");
    return kNoValue;
  }
  Dims blocks = dims;
  blocks[at] = (dims[at] + block - 1) / block;
  if (b.DimsOf(parameter) != blocks) {
    c.Fail("the scale does not have one entry a block");
    return kNoValue;
  }
  Dims split = blocks;
  split.insert(split.begin() + axis + 1, 1);
  Dims wide = split;
  wide[at + 1] = block;
  Dims joined = blocks;
  joined[at] *= block;
  const ValueId repeated = b.Reshape(b.Expand(b.Reshape(parameter, split), wide), joined);
  return b.SliceAxis(repeated, axis, 0, dims[at]);
}

// A scale or zero point per tensor stays a scalar; one per slice of the axis is shaped to it; one
// per block repeats along it.
ValueId AlongAxis(OpContext& c, ValueId x, ValueId parameter) {
  Builder& b = c.b;
  const int64_t block = c.Int("block_size", 0);
  if (!c.ok()) return kNoValue;
  if (block == 0 && b.TypeOf(parameter).NumElements() == 1) return b.Reshape(parameter, {});
  const int64_t at = Axis(c, c.Int("axis", 1), b.RankOf(x));
  if (!c.ok()) return kNoValue;
  if (block != 0) return RepeatBlocks(c, x, parameter, at, block);
  if (b.DimsOf(parameter) != Dims{b.Dim(x, at)}) {
    c.Fail("the scale does not fit the axis");
    return kNoValue;
  }
  Dims dims(b.DimsOf(x).size(), 1);
  dims[static_cast<size_t>(at)] = b.Dim(x, at);
  return b.Reshape(parameter, dims);
}

void DequantizeLinear(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId scale = c.In(1);
  if (!c.ok()) return;
  const DType type = b.DTypeOf(scale);
  const DType wide = type == DType::kF64 ? type : DType::kF32;
  ValueId y = b.Cast(x, wide);
  if (c.Has(2)) y = b.Minus(y, AlongAxis(c, x, b.Cast(c.In(2), wide)));
  y = b.Times(y, AlongAxis(c, x, b.Cast(scale, wide)));
  c.Out(b.Cast(y, type));
}

void QuantizeLinear(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = b.Cast(c.In(0), DType::kF32);
  const ValueId scale = b.Cast(c.In(1), DType::kF32);
  if (!c.ok()) return;
  DType to = c.Has(2) ? b.DTypeOf(c.In(2)) : DType::kU8;
  const int64_t named = c.Int("output_dtype", 0);
  if (named == kInt8) to = DType::kI8;
  if (named == kInt16) to = DType::kI16;
  if (named != 0 && named != kInt8 && named != kUint8 && named != kInt16) {
    return c.Unsupported("this output_dtype");
  }
  if (to != DType::kU8 && to != DType::kI8 && to != DType::kI16) {
    return c.Unsupported("this type of quantised values");
  }
  const ValueId zero = c.Has(2) ? AlongAxis(c, x, c.In(2)) : kNoValue;
  c.Out(Quantized(b, x, AlongAxis(c, x, scale), zero, to));
}

void DynamicQuantizeLinear(OpContext& c) {
  const DynamicQuantisation quantised = QuantizedByRange(c.b, c.In(0));
  c.Out(quantised.values, 0);
  c.Out(quantised.scale, 1);
  c.Out(quantised.zero, 2);
}

constexpr OpRow kQuantizeRows[] = {
    {"DequantizeLinear", DequantizeLinear, 3, 1},
    {"DynamicQuantizeLinear", DynamicQuantizeLinear, 1, 3},
    {"QuantizeLinear", QuantizeLinear, 3, 1, "to i8, u8 or i16"},
};

}  // namespace

std::span<const OpRow> QuantizeOps() { return kQuantizeRows; }

}  // namespace mlc::graph::onnx
