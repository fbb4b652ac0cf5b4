// Quantisation as the arithmetic it stands for: casts, scales and rounding.
#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/graph/float8_codes.h"
#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/conversion.h"
#include "compiler/graph/onnx/ops/packed_weights.h"
#include "compiler/graph/onnx/ops/quantize.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

std::pair<double, double> RangeOf(DType dtype) {
  const int bits = BitsOf(dtype);
  if (IsUnsigned(dtype)) return {0, std::ldexp(1, bits) - 1};
  return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
}

// Whether quantised values may have the type: floats of 4 and 8 bits, integers of at most 16.
bool IsQuantised(DType dtype) {
  return IsFloat(dtype) ? IsSmall(dtype) && dtype != DType::kF8E8M0
                        : dtype != DType::kBool && SizeOf(dtype) <= 2;
}

}  // namespace

ValueId Quantized(Builder& b, ValueId x, ValueId scale, ValueId zero, DType to, bool saturates) {
  if (IsFloat(to)) return Converted(b, b.Over(x, scale), to, {.saturates = saturates});
  const auto [low, high] = RangeOf(to);
  ValueId y = b.Apply(ScalarOp::kRound, {b.Over(x, scale)});
  if (zero != kNoValue) y = b.Plus(y, b.Cast(zero, b.DTypeOf(y)));
  y = b.Min(b.Max(y, b.ScalarLike(y, low)), b.ScalarLike(y, high));
  return Converted(b, y, to);
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

ValueId RepeatBlocks(OpContext& c, ValueId x, ValueId parameter, int64_t axis, int64_t block) {
  Builder& b = c.b;
  const Dims dims = b.DimsOf(x);
  const size_t at = static_cast<size_t>(axis);
  if (c.ok() && block < 1) c.Fail("block_size must be positive");
  if (!c.ok()) return kNoValue;
  // A block beyond the axis is one of the axis.
  block = std::min(block, std::max<int64_t>(dims[at], 1));
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

namespace {

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

// The dims of one number for each block.
Dims DimsOfBlocks(const Builder& b, ValueId x, int64_t axis, int64_t block) {
  Dims dims = b.DimsOf(x);
  int64_t& length = dims[static_cast<size_t>(axis)];
  length = length / block + (length % block == 0 ? 0 : 1);
  return dims;
}

// Matrices of float8 in blocks stay packed; kNoValue if the operands are of another kind.
ValueId PackedFloat8Blocks(OpContext& c, DType type) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t block = c.Int("block_size", 0);
  const bool is_float8 = IsFloat8(StoredTypeOf(b, x)) && b.IsConstant(x) && b.IsConstant(c.In(1));
  if (block < 1 || !is_float8 || (c.Has(2) && !b.IsConstant(c.In(2)))) return kNoValue;
  if (b.RankOf(x) != 2 || b.TypeOf(x).NumElements() == 0 || type == DType::kF64) return kNoValue;
  const int64_t axis = Axis(c, c.Int("axis", 1), 2);
  const TensorDataRef halves = c.DataIn(0), scales = c.DataIn(1), zeros = c.DataIn(2);
  if (!c.ok() || scales->dtype == DType::kF64) return kNoValue;
  if (b.DimsOf(c.In(1)) != DimsOfBlocks(b, x, axis, block)) return kNoValue;
  if (zeros != nullptr) {
    const std::vector<double> numbers = ReadDoubles(*zeros);
    if (std::any_of(numbers.begin(), numbers.end(), [](double zero) { return zero != 0; }))
      return kNoValue;
  }
  const std::optional<TensorDataRef> codes = AsFloat8(halves);
  if (!codes || !IsFinite(**codes)) return kNoValue;
  return PackedFloat8(c, {*codes, scales, nullptr, static_cast<int>(axis), block}, type);
}

// Weights in blocks: matrices stay packed, others become constants; kNoValue if the operands are of
// another kind. Kernels would decode them anew in every run.
ValueId DecodedBlocks(OpContext& c, DType type) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t block = c.Int("block_size", 0);
  const bool is_narrow = b.DTypeOf(x) == DType::kU8 || b.DTypeOf(x) == DType::kI8;
  const bool are_constant =
      b.IsConstant(x) && b.IsConstant(c.In(1)) && (!c.Has(2) || b.IsConstant(c.In(2)));
  if (block < 1 || !is_narrow || !are_constant || type == DType::kF64) return kNoValue;
  const int64_t axis = Axis(c, c.Int("axis", 1), b.RankOf(x));
  BlockCodes codes;
  codes.codes = c.DataIn(0);
  codes.scales = c.DataIn(1);
  codes.zeros = c.DataIn(2);
  if (!c.ok() || codes.scales->dtype == DType::kF64) return kNoValue;
  const int64_t length = b.Dim(x, axis);
  const Dims dims = DimsOfBlocks(b, x, axis, block);
  if (b.DimsOf(c.In(1)) != dims || (c.Has(2) && b.DimsOf(c.In(2)) != dims)) return kNoValue;
  if (dims.size() == 2 && b.TypeOf(x).NumElements() > 0) {
    const ByteCodes form = {codes.codes, codes.scales, codes.zeros, static_cast<int>(axis), block};
    return PackedBytes(c, form, type);
  }
  codes.axis = axis;
  codes.blocks = dims[static_cast<size_t>(axis)];
  for (int64_t k = 0; k < length; ++k) codes.block_of.push_back(k / block);
  DecodingWay way = {{codes.codes, codes.scales, codes.zeros},
                     {block, axis, static_cast<int64_t>(type)}};
  way.numbers.insert(way.numbers.end(), b.DimsOf(x).begin(), b.DimsOf(x).end());
  const Result<ValueId> weights = c.decoded.Once(
      way, b.TypeOf(x).NumElements() * SizeOf(type),
      [&]() -> Result<ValueId> { return b.Constant(MLC_TRY(DecodeBlocks(codes, type))); });
  return weights.ok() ? *weights : b.Fail(weights.status());
}

// The number of a type that a node names, or `otherwise`.
DType NamedType(OpContext& c, DType otherwise) {
  const int64_t named = c.Int("output_dtype", 0);
  if (named == 0 || !c.ok()) return otherwise;
  const Result<DType> asked = DTypeOf(static_cast<int32_t>(std::clamp<int64_t>(named, 0, 1000)));
  if (asked.ok()) return *asked;
  c.b.Fail(asked.status().WithPrefix("output_dtype"));
  return otherwise;
}

// A zero point has the type of the quantised values. Constants of few bits may have forgotten the
// type that the model gave them: they are of the wider one.
void CheckZeroPoint(OpContext& c, ValueId x) {
  const Builder& b = c.b;
  if (!c.ok() || !c.Has(2)) return;
  const DType values = StoredTypeOf(b, x), zero = StoredTypeOf(b, c.In(2));
  if (values == zero || b.DTypeOf(x) == b.DTypeOf(c.In(2))) return;
  c.Fail("the zero point is " + std::string(ToText(zero)) + ", the values are " +
         std::string(ToText(values)) + ": they must have the same type");
}

void DequantizeLinear(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId scale = c.In(1);
  if (c.ok() && !IsFloat(b.DTypeOf(scale))) return c.Fail("the scale must be of a float type");
  const DType type = NamedType(c, b.DTypeOf(scale));
  if (c.ok() && !IsFloat(type)) return c.Fail("output_dtype must be a float type");
  CheckZeroPoint(c, x);
  if (!c.ok()) return;
  ValueId decoded = PackedFloat8Blocks(c, type);
  if (decoded == kNoValue && c.ok()) decoded = DecodedBlocks(c, type);
  if (decoded != kNoValue || !c.ok()) return c.Out(decoded);
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
  const DType of_zero = c.Has(2) ? StoredTypeOf(b, c.In(2)) : DType::kU8;
  const DType to = NamedType(c, of_zero);
  if (!c.ok()) return;
  if (c.Has(2) && to != of_zero) {
    return c.Fail("the zero point is " + std::string(ToText(of_zero)) + ", output_dtype is " +
                  std::string(ToText(to)) + ": they must be the same type");
  }
  if (!IsQuantised(to)) return c.Unsupported("this type of quantised values");
  const ValueId zero = c.Has(2) ? AlongAxis(c, x, c.In(2)) : kNoValue;
  const bool saturates = c.Flag("saturate", true);
  c.Out(Quantized(b, x, AlongAxis(c, x, scale), zero, to, saturates));
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
    {"QuantizeLinear", QuantizeLinear, 3, 1},
};

}  // namespace

std::span<const OpRow> QuantizeOps() { return kQuantizeRows; }

}  // namespace mlc::graph::onnx
