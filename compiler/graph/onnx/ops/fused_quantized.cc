// Operators on quantised values that ONNX Runtime's quantizer writes (domain com.microsoft), as
// the arithmetic of what they stand for.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/channels.h"
#include "compiler/graph/onnx/ops/pools.h"
#include "compiler/graph/onnx/ops/quantize.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// The values behind operand `at`, whose scale and zero point follow it.
ValueId Real(OpContext& c, int at) {
  Builder& b = c.b;
  const ValueId x = b.Cast(c.In(at), DType::kF32);
  const ValueId scale = b.Cast(c.In(at + 1), DType::kF32);
  if (c.ok() && b.TypeOf(scale).NumElements() != 1) c.Unsupported("quantisation per channel");
  if (!c.ok()) return kNoValue;
  const ValueId centred =
      c.Has(at + 2) ? b.Minus(x, b.Reshape(b.Cast(c.In(at + 2), DType::kF32), {})) : x;
  return b.Times(centred, b.Reshape(scale, {}));
}

// y in the type that operand 0 of the node has, by the scale at `at` and the zero point after it.
void OutQuantized(OpContext& c, ValueId y, int at, DType type) {
  Builder& b = c.b;
  const ValueId scale = b.Cast(c.In(at), DType::kF32);
  if (!c.ok() || b.TypeOf(scale).NumElements() != 1) {
    return c.Fail("the result's scale must be one number");
  }
  const ValueId zero = c.Has(at + 1) ? b.Reshape(c.In(at + 1), {}) : kNoValue;
  c.Out(Quantized(b, y, b.Reshape(scale, {}), zero, type));
}

void OfTwo(OpContext& c, ScalarOp op) {
  const ValueId y = c.b.Apply(op, {Real(c, 0), Real(c, 3)});
  OutQuantized(c, y, 6, c.b.DTypeOf(c.In(0)));
}

void QLinearAdd(OpContext& c) { OfTwo(c, ScalarOp::kAdd); }
void QLinearMul(OpContext& c) { OfTwo(c, ScalarOp::kMul); }

void QLinearSigmoid(OpContext& c) {
  OutQuantized(c, c.b.Apply(ScalarOp::kSigmoid, {Real(c, 0)}), 3, c.b.DTypeOf(c.In(0)));
}

void QLinearLeakyRelu(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = Real(c, 0);
  const ValueId negative = b.Apply(ScalarOp::kLess, {x, b.Scalar(DType::kF32, 0)});
  const ValueId y = b.Select(negative, b.TimesNumber(x, c.Float("alpha", 0.01)), x);
  OutQuantized(c, y, 3, b.DTypeOf(c.In(0)));
}

void QLinearSoftmax(OpContext& c) {
  const ValueId x = Real(c, 0);
  const int64_t axis = Axis(c, c.Int("axis", -1), c.b.RankOf(x));
  if (!c.ok()) return;
  const Dims dims = c.b.DimsOf(x);
  ValueId y = kNoValue;
  if (c.Int("opset", 13) < 13) {  // over all dimensions from the axis on
    Dims flat(dims.begin(), dims.begin() + axis);
    flat.push_back(1);
    for (size_t i = static_cast<size_t>(axis); i < dims.size(); ++i) flat.back() *= dims[i];
    y = c.b.Reshape(c.b.Softmax(c.b.Reshape(x, flat), axis), dims);
  } else {
    y = c.b.Softmax(x, axis);
  }
  OutQuantized(c, y, 3, c.b.DTypeOf(c.In(0)));
}

void QLinearGlobalAveragePool(OpContext& c) {
  const ValueId x = Real(c, 0);
  const bool last = c.Flag("channels_last", false);
  Dims axes;
  for (int64_t i = last ? 1 : 2; i < c.b.RankOf(x) - (last ? 1 : 0); ++i) axes.push_back(i);
  OutQuantized(c, c.b.Reduce("mean", x, axes, true), 3, c.b.DTypeOf(c.In(0)));
}

void QLinearReduceMean(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = Real(c, 0);
  Dims axes = Axes(c, c.Ints("axes"), b.RankOf(x));
  if (axes.empty()) {
    for (int64_t i = 0; i < b.RankOf(x); ++i) axes.push_back(i);
  }
  std::sort(axes.begin(), axes.end());
  OutQuantized(c, b.Reduce("mean", x, axes, c.Flag("keepdims", true)), 3, b.DTypeOf(c.In(0)));
}

void QLinearAveragePool(OpContext& c) {
  const ValueId x = Real(c, 0);
  const bool is_last = c.Flag("channels_last", false);
  const ValueId y = AveragePooled(c, is_last ? ChannelsSecond(c.b, x) : x);
  OutQuantized(c, is_last ? ChannelsLast(c.b, y) : y, 3, c.b.DTypeOf(c.In(0)));
}

void QLinearWhere(OpContext& c) {
  const ValueId yes = Real(c, 1);
  const ValueId y = c.b.Select(c.In(0), yes, Real(c, 4));
  OutQuantized(c, y, 7, c.b.DTypeOf(c.In(1)));
}

// Operands: the result's scale and zero point, then every part with its own.
void QLinearConcat(OpContext& c) {
  std::vector<ValueId> parts;
  for (int at = 2; at < c.OperandCount() && c.ok(); at += 3) parts.push_back(Real(c, at));
  if (parts.empty()) return c.Fail("there is nothing to join");
  const int64_t axis = Axis(c, c.RequiredInt("axis"), c.b.RankOf(parts[0]));
  if (!c.ok()) return;
  OutQuantized(c, c.b.Concat(std::move(parts), axis), 0, c.b.DTypeOf(c.In(2)));
}

void Standard(OpContext& c) { FindHandler({}, c.op_type())(c); }

constexpr OpRow kFusedQuantizedRows[] = {
    {"DequantizeLinear", Standard, 3, 1},
    {"QLinearAdd", QLinearAdd, 8, 1},
    {"QLinearAveragePool", QLinearAveragePool, 5, 1},
    {"QLinearWhere", QLinearWhere, 9, 1},
    {"QLinearConcat", QLinearConcat, kVariadic, 1},
    {"QLinearGlobalAveragePool", QLinearGlobalAveragePool, 5, 1},
    {"QLinearLeakyRelu", QLinearLeakyRelu, 5, 1},
    {"QLinearMul", QLinearMul, 8, 1},
    {"QLinearReduceMean", QLinearReduceMean, 5, 1},
    {"QLinearSigmoid", QLinearSigmoid, 5, 1},
    {"QLinearSoftmax", QLinearSoftmax, 5, 1},
    {"QuantizeLinear", Standard, 3, 1},
};

}  // namespace

std::span<const OpRow> FusedQuantizedOps() { return kFusedQuantizedRows; }

}  // namespace mlc::graph::onnx
