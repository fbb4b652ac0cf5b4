// Operators on quantised values that ONNX Runtime's quantizer writes (domain com.microsoft), as
// the arithmetic of what they stand for.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
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
  if (c.Int("opset", 13) < 13) return c.Unsupported("the flat form of operator sets before 13");
  OutQuantized(c, c.b.Softmax(x, axis), 3, c.b.DTypeOf(c.In(0)));
}

void QLinearGlobalAveragePool(OpContext& c) {
  const ValueId x = Real(c, 0);
  const bool last = c.Flag("channels_last", false);
  Dims axes;
  for (int64_t i = last ? 1 : 2; i < c.b.RankOf(x) - (last ? 1 : 0); ++i) axes.push_back(i);
  OutQuantized(c, c.b.Reduce("mean", x, axes, true), 3, c.b.DTypeOf(c.In(0)));
}

void QLinearAveragePool(OpContext& c) {
  const ValueId x = Real(c, 0);
  if (c.Flag("channels_last", false)) return c.Unsupported("channels_last=1");
  OutQuantized(c, AveragePooled(c, x), 3, c.b.DTypeOf(c.In(0)));
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
    {"QLinearSigmoid", QLinearSigmoid, 5, 1},
    {"QLinearSoftmax", QLinearSoftmax, 5, 1, "the form of operator set 13"},
    {"QuantizeLinear", Standard, 3, 1},
};

}  // namespace

std::span<const OpRow> FusedQuantizedOps() { return kFusedQuantizedRows; }

}  // namespace mlc::graph::onnx
