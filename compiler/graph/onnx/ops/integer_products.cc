// Products of 8-bit integers, as products of bytes where these have kernels. Single precision is
// exact as long as a sum stays below 2^24, so the summed dimension is cut into parts that cannot
// exceed it, whose sums are added as integers.
#include <algorithm>
#include <cmath>

#include "compiler/graph/onnx/ops/channels.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/ops/quantize.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr double kExact = 16777216;
constexpr double kLargest = 255;  // of an 8-bit integer less its zero point
constexpr int64_t kMaxScanned = int64_t{1} << 24;

// The largest magnitude that an element of `x` can have.
double Magnitude(Builder& b, ValueId x) {
  if (!b.ok() || !b.IsConstant(x) || b.TypeOf(x).NumElements() > kMaxScanned) return kLargest;
  double largest = 1;
  for (const double value : b.Floats(x, "weights")) largest = std::max(largest, std::abs(value));
  return largest;
}

// Terms that a sum of products may have.
int64_t ExactTerms(Builder& b, ValueId x, ValueId y) {
  return static_cast<int64_t>(kExact / (Magnitude(b, x) * Magnitude(b, y)));
}

// `x` as f32 less its zero point, which is a scalar or a vector shaped to `dims`.
ValueId Centred(OpContext& c, ValueId x, int zero, const Dims& dims) {
  Builder& b = c.b;
  const ValueId wide = b.Cast(x, DType::kF32);
  if (!c.Has(zero)) return wide;
  const ValueId point = b.Cast(c.In(zero), DType::kF32);
  const bool single = b.TypeOf(point).NumElements() == 1;
  return b.Minus(wide, b.RankOf(point) > 1 ? point : b.Reshape(point, single ? Dims{} : dims));
}

// One parameter a row of a left operand, or a column of a right one.
Dims PerRow(Builder& b, ValueId parameter) { return {b.TypeOf(parameter).NumElements(), 1}; }
Dims PerColumn(Builder& b, ValueId parameter) { return {b.TypeOf(parameter).NumElements()}; }

ValueId ExactMatMul(Builder& b, ValueId x, ValueId y) {
  if (const ValueId sums = SumsOfBytes(b, b.MatMul(x, y)); sums != kNoValue) return sums;
  const int64_t inner = b.Dim(x, b.RankOf(x) - 1);
  const int64_t terms = ExactTerms(b, x, y);
  ValueId sum = kNoValue;
  for (int64_t at = 0; at < std::max<int64_t>(inner, 1) && b.ok(); at += terms) {
    const int64_t size = std::min(terms, inner - at);
    const ValueId part = b.Cast(b.MatMul(b.SliceAxis(x, b.RankOf(x) - 1, at, size),
                                         b.SliceAxis(y, b.RankOf(y) - 2, at, size)),
                                DType::kI32);
    sum = sum == kNoValue ? part : b.Plus(sum, part);
  }
  return sum;
}

ValueId IntegerMatMul(OpContext& c, ValueId x, ValueId y) {
  return MatMulOfAnyRank(c, x, y, [&](ValueId l, ValueId r) {
    if (c.ok() && c.b.Dim(l, c.b.RankOf(l) - 1) != c.b.Dim(r, c.b.RankOf(r) - 2)) {
      c.Fail("inner dimensions differ");
      return kNoValue;
    }
    return ExactMatMul(c.b, l, r);
  });
}

void MatMulInteger(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId y = c.In(1);
  const Dims rows = c.Has(2) ? PerRow(b, c.In(2)) : Dims{};
  const Dims columns = c.Has(3) ? PerColumn(b, c.In(3)) : Dims{};
  c.Out(IntegerMatMul(c, Centred(c, x, 2, rows), Centred(c, y, 3, columns)));
}

// A convolution whose sums have too many terms for single precision is cut by input channels, or
// done in double precision if one channel is too many.
ValueId IntegerConv(OpContext& c, ValueId x, ValueId w) {
  Builder& b = c.b;
  if (!c.ok()) return kNoValue;
  if (b.RankOf(w) < 3 || b.RankOf(x) != b.RankOf(w)) {
    c.Fail("operands must have the same rank, 3 or more");
    return kNoValue;
  }
  if (const ValueId sums = SumsOfBytes(b, Convolution(c, x, w)); sums != kNoValue) return sums;
  int64_t taps = 1;
  for (int64_t i = 2; i < b.RankOf(w); ++i) taps *= std::max<int64_t>(b.Dim(w, i), 1);
  const int64_t channels = b.Dim(w, 1);
  const int64_t together = ExactTerms(b, x, w) / taps;
  if (channels <= together) return b.Cast(Convolution(c, x, w), DType::kI32);
  if (together == 0 || c.Int("group", 1) != 1 || b.Dim(x, 1) != channels) {
    return b.Cast(Convolution(c, b.Cast(x, DType::kF64), b.Cast(w, DType::kF64)), DType::kI32);
  }
  ValueId sum = kNoValue;
  for (int64_t at = 0; at < channels && c.ok(); at += together) {
    const int64_t size = std::min(together, channels - at);
    const ValueId part = b.Cast(
        Convolution(c, b.SliceAxis(x, 1, at, size), b.SliceAxis(w, 1, at, size)), DType::kI32);
    sum = sum == kNoValue ? part : b.Plus(sum, part);
  }
  return sum;
}

Dims PerOutputChannel(Builder& b, ValueId parameter, int rank) {
  Dims dims(static_cast<size_t>(std::max(rank, 1)), 1);
  dims[0] = b.TypeOf(parameter).NumElements();
  return dims;
}

void ConvInteger(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId w = c.In(1);
  const Dims dims = c.Has(3) ? PerOutputChannel(b, c.In(3), b.RankOf(w)) : Dims{};
  c.Out(IntegerConv(c, Centred(c, x, 2, {}), Centred(c, w, 3, dims)));
}

// The sums of products, scaled to the result's quantisation.
ValueId Requantized(OpContext& c, ValueId sum, ValueId x_scale, ValueId w_scale, int y_scale,
                    int y_zero) {
  Builder& b = c.b;
  const auto scalar = [&](int i) {
    const ValueId value = c.In(i);
    if (c.ok() && b.TypeOf(value).NumElements() != 1) {
      c.Unsupported("quantisation of the result per channel");
    }
    return c.ok() ? b.Reshape(value, {}) : kNoValue;
  };
  const ValueId zero = scalar(y_zero);
  const ValueId scale = b.Cast(scalar(y_scale), DType::kF32);
  const ValueId factor = b.Over(b.Times(x_scale, w_scale), scale);
  const ValueId value = b.Times(b.Cast(sum, DType::kF32), factor);
  return Quantized(b, value, b.Scalar(DType::kF32, 1), zero, b.DTypeOf(zero));
}

// Operands: a, scale, zero, b, scale, zero, scale, zero.
void QLinearMatMul(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId y = c.In(3);
  const auto scale = [&](int i, bool rows) {
    const ValueId value = b.Cast(c.In(i), DType::kF32);
    if (b.TypeOf(value).NumElements() == 1) return b.Reshape(value, {});
    if (b.RankOf(value) > 1) return value;
    return b.Reshape(value, rows ? PerRow(b, value) : PerColumn(b, value));
  };
  const ValueId left = Centred(c, x, 2, PerRow(b, c.In(2)));
  const ValueId right = Centred(c, y, 5, PerColumn(b, c.In(5)));
  if (!c.ok()) return;
  c.Out(Requantized(c, IntegerMatMul(c, left, right), scale(1, true), scale(4, false), 6, 7));
}

}  // namespace

ValueId ScaledIntegerProduct(OpContext& c, const IntegerOperands& operands, ValueId scale) {
  Builder& b = c.b;
  const auto [x, y, x_zero, y_zero] = operands;
  const Dims rows = c.Has(x_zero) ? PerRow(b, c.In(x_zero)) : Dims{};
  const Dims columns = c.Has(y_zero) ? PerColumn(b, c.In(y_zero)) : Dims{};
  const ValueId sum =
      IntegerMatMul(c, Centred(c, c.In(x), x_zero, rows), Centred(c, c.In(y), y_zero, columns));
  return b.Times(b.Cast(sum, DType::kF32), scale);
}

namespace {

// The sums of products as what they stand for, and an operand of the node added.
void OutReal(OpContext& c, ValueId sum, ValueId scale, int bias) {
  Builder& b = c.b;
  ValueId y = b.Times(b.Cast(sum, DType::kF32), scale);
  if (c.Has(bias)) y = b.Plus(y, c.In(bias));
  c.Out(y);
}

// Operands: a, b, their scales, their zero points, bias.
void MatMulIntegerToFloat(OpContext& c) {
  Builder& b = c.b;
  if (c.ok() && b.TypeOf(c.In(2)).NumElements() != 1) {
    return c.Unsupported("quantisation of the left operand per row");
  }
  const ValueId scale = b.Times(b.Reshape(c.In(2), {}), c.In(3));
  const ValueId y = ScaledIntegerProduct(c, {0, 1, 4, 5}, scale);
  c.Out(c.Has(6) ? b.Plus(y, c.In(6)) : y);
}

// Operands: a, which is quantised here, b, its scale and zero point, bias.
void DynamicQuantizeMatMul(OpContext& c) {
  Builder& b = c.b;
  const ValueId y = Centred(c, c.In(1), 3, c.Has(3) ? PerColumn(b, c.In(3)) : Dims{});
  const ValueId product = DynamicProduct(c, c.In(0), y, c.In(2));
  c.Out(c.Has(4) ? b.Plus(product, c.In(4)) : product);
}

// Operands: a, scale, zero, b, scale, zero, bias of i32, scale, zero; a result without a scale is
// not quantised.
void QGemm(OpContext& c) {
  Builder& b = c.b;
  ValueId x = Centred(c, c.In(0), 2, {});
  ValueId y = c.In(3);
  if (c.ok() && (b.RankOf(x) != 2 || b.RankOf(y) != 2)) return c.Fail("operands must be matrices");
  if (c.ok() && b.TypeOf(c.In(1)).NumElements() != 1) {
    return c.Unsupported("quantisation of the left operand per row");
  }
  if (c.Flag("transA", false)) x = b.Transpose(x, {1, 0});
  if (c.Flag("transB", false)) y = b.Transpose(y, {1, 0});
  ValueId sum = IntegerMatMul(c, x, Centred(c, y, 5, PerColumn(b, c.In(5))));
  if (c.Has(6)) sum = b.Plus(sum, c.In(6));
  const ValueId x_scale = b.TimesNumber(b.Reshape(c.In(1), {}), c.Float("alpha", 1));
  if (!c.Has(7)) return OutReal(c, sum, b.Times(x_scale, c.In(4)), c.OperandCount());
  c.Out(Requantized(c, sum, x_scale, c.In(4), 7, 8));
}

// Operands: x, scale, zero, w, scale, zero, scale, zero, bias of i32. `x` is operand 0 with its
// channels second, and so is the result.
ValueId QuantisedConv(OpContext& c, ValueId x) {
  Builder& b = c.b;
  const ValueId w = c.In(3);
  const int rank = b.RankOf(w);
  const ValueId w_scale = b.Cast(c.In(4), DType::kF32);
  if (c.ok() && b.TypeOf(c.In(1)).NumElements() != 1) {
    c.Unsupported("quantisation of the operand per channel");
  }
  if (!c.ok()) return kNoValue;
  ValueId sum =
      IntegerConv(c, Centred(c, x, 2, {}), Centred(c, w, 5, PerOutputChannel(b, c.In(5), rank)));
  if (c.Has(8)) sum = b.Plus(sum, b.Reshape(c.In(8), PerOutputChannel(b, c.In(8), rank - 1)));
  const bool single = b.TypeOf(w_scale).NumElements() == 1;
  const ValueId along =
      b.Reshape(w_scale, single ? Dims{} : PerOutputChannel(b, w_scale, rank - 1));
  return Requantized(c, sum, b.Reshape(b.Cast(c.In(1), DType::kF32), {}), along, 6, 7);
}

void QLinearConv(OpContext& c) { c.Out(QuantisedConv(c, c.In(0))); }

void FusedQLinearConv(OpContext& c) {
  if (!c.Flag("channels_last", false)) return QLinearConv(c);
  c.Out(ChannelsLast(c.b, QuantisedConv(c, ChannelsSecond(c.b, c.In(0)))));
}

constexpr OpRow kIntegerProductsRows[] = {
    {"ConvInteger", ConvInteger, 4, 1},
    {"MatMulInteger", MatMulInteger, 4, 1, "one zero point for the left operand"},
    {"QLinearConv", QLinearConv, 9, 1, "one scale for the result"},
    {"QLinearMatMul", QLinearMatMul, 8, 1},
};

constexpr OpRow kFusedRows[] = {
    {"DynamicQuantizeMatMul", DynamicQuantizeMatMul, 5, 1},
    {"MatMulIntegerToFloat", MatMulIntegerToFloat, 7, 1},
    {"QGemm", QGemm, 9, 1},
    {"QLinearConv", FusedQLinearConv, 9, 1, "one scale for the result"},
};

}  // namespace

ValueId DynamicProduct(OpContext& c, ValueId x, ValueId y, ValueId scale) {
  Builder& b = c.b;
  const DynamicQuantisation left = QuantizedByRange(b, x);
  const ValueId rows = b.Minus(b.Cast(left.values, DType::kF32), b.Cast(left.zero, DType::kF32));
  const ValueId sum = IntegerMatMul(c, rows, y);
  return b.Times(b.Cast(sum, DType::kF32), b.Times(left.scale, scale));
}

std::span<const OpRow> IntegerProductOps() { return kIntegerProductsRows; }
std::span<const OpRow> FusedIntegerProductOps() { return kFusedRows; }

}  // namespace mlc::graph::onnx
