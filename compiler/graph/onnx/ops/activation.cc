// Activations, each a short formula of scalar operators.
#include <cmath>

#include "compiler/graph/onnx/ops/gelu.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

ValueId ErfGelu(Builder& b, ValueId x) {
  const ValueId gate = b.Apply(ScalarOp::kErf, {b.TimesNumber(x, std::sqrt(0.5))});
  return b.Times(b.TimesNumber(x, 0.5), b.PlusNumber(gate, 1.0));
}

ValueId TanhGelu(Builder& b, ValueId x) {
  const ValueId cube = b.Times(b.Times(x, x), x);
  const ValueId inner =
      b.TimesNumber(b.Plus(x, b.TimesNumber(cube, 0.044715)), std::sqrt(2 / M_PI));
  const ValueId gate = b.Apply(ScalarOp::kTanh, {inner});
  return b.Times(b.TimesNumber(x, 0.5), b.PlusNumber(gate, 1.0));
}

namespace {

ValueId IsNegative(Builder& b, ValueId x) {
  return b.Apply(ScalarOp::kLess, {x, b.ScalarLike(x, 0)});
}

ValueId Exp(Builder& b, ValueId x) { return b.Apply(ScalarOp::kExp, {x}); }
ValueId Sigmoid(Builder& b, ValueId x) { return b.Apply(ScalarOp::kSigmoid, {x}); }
ValueId Relu(Builder& b, ValueId x) { return b.Max(x, b.ScalarLike(x, 0)); }

// scale * (exp(x) - 1), with the positive part cut off first: it must not overflow to infinity
// where it is not chosen.
ValueId ExpMinusOne(Builder& b, ValueId x, double scale) {
  const ValueId negative = b.Min(x, b.ScalarLike(x, 0));
  return b.TimesNumber(b.PlusNumber(Exp(b, negative), -1.0), scale);
}

void Relu(OpContext& c) { c.Out(Relu(c.b, c.In(0))); }
void Sigmoid(OpContext& c) { c.Out(Sigmoid(c.b, c.In(0))); }

void LeakyRelu(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Select(IsNegative(c.b, x), c.b.TimesNumber(x, c.Float("alpha", 0.01)), x));
}

void PRelu(OpContext& c) {
  const ValueId x = c.In(0);
  ValueId slope = c.In(1);
  // Before version 7 a vector of slopes was one per channel.
  if (c.opset() < 7 && c.b.RankOf(slope) == 1 && c.b.Dim(slope, 0) > 1 && c.b.RankOf(x) > 2) {
    Dims dims(static_cast<size_t>(c.b.RankOf(x)) - 1, 1);
    dims[0] = c.b.Dim(slope, 0);
    slope = c.b.Reshape(slope, dims);
  }
  c.Out(c.b.Select(IsNegative(c.b, x), c.b.Times(x, slope), x));
}

void Elu(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Select(IsNegative(c.b, x), ExpMinusOne(c.b, x, c.Float("alpha", 1)), x));
}

void Selu(OpContext& c) {
  const ValueId x = c.In(0);
  const double alpha = c.Float("alpha", 1.67326319217681884765625);
  const double gamma = c.Float("gamma", 1.05070102214813232421875);
  const ValueId elu = c.b.Select(IsNegative(c.b, x), ExpMinusOne(c.b, x, alpha), x);
  c.Out(c.b.TimesNumber(elu, gamma));
}

void Celu(OpContext& c) {
  const ValueId x = c.In(0);
  const double alpha = c.Float("alpha", 1);
  const ValueId scaled = c.b.Over(x, c.b.ScalarLike(x, alpha));
  c.Out(c.b.Plus(Relu(c.b, x), ExpMinusOne(c.b, scaled, alpha)));
}

// log(1 + exp(x)), written so that large x does not overflow and exp(x) is not lost below one.
ValueId Softplus(Builder& b, ValueId x) {
  const ValueId size = b.Apply(ScalarOp::kAbs, {x});
  const ValueId tail = Exp(b, b.Apply(ScalarOp::kNeg, {size}));
  return b.Plus(Relu(b, x), b.Apply(ScalarOp::kLog1p, {tail}));
}

void Softplus(OpContext& c) { c.Out(Softplus(c.b, c.In(0))); }

void Mish(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Times(x, c.b.Apply(ScalarOp::kTanh, {Softplus(c.b, x)})));
}

void Softsign(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Over(x, c.b.PlusNumber(c.b.Apply(ScalarOp::kAbs, {x}), 1.0)));
}

void Swish(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Times(x, Sigmoid(c.b, c.b.TimesNumber(x, c.Float("alpha", 1)))));
}

ValueId HardSigmoid(Builder& b, ValueId x, double alpha, double beta) {
  const ValueId line = b.PlusNumber(b.TimesNumber(x, alpha), beta);
  return b.Min(b.Max(line, b.ScalarLike(x, 0)), b.ScalarLike(x, 1));
}

void HardSigmoid(OpContext& c) {
  c.Out(HardSigmoid(c.b, c.In(0), c.Float("alpha", 0.2), c.Float("beta", 0.5)));
}

void SwiGlu(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId y = c.In(1);
  if (c.ok() && b.DimsOf(x) != b.DimsOf(y)) return c.Fail("the operands must have one shape");
  const ValueId gate = Sigmoid(b, b.TimesNumber(x, c.Float("alpha", 1)));
  c.Out(b.Times(b.Times(x, gate), y));
}

void HardSwish(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Times(x, HardSigmoid(c.b, x, 1.0 / 6, 0.5)));
}

void ThresholdedRelu(OpContext& c) {
  const ValueId x = c.In(0);
  const ValueId above = c.b.Apply(ScalarOp::kLess, {c.b.ScalarLike(x, c.Float("alpha", 1)), x});
  c.Out(c.b.Select(above, x, c.b.ScalarLike(x, 0)));
}

void Shrink(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const double lambd = c.Float("lambd", 0.5);
  const double bias = c.Float("bias", 0);
  const ValueId low = b.Apply(ScalarOp::kLess, {x, b.ScalarLike(x, -lambd)});
  const ValueId high = b.Apply(ScalarOp::kLess, {b.ScalarLike(x, lambd), x});
  const ValueId inner = b.Select(high, b.PlusNumber(x, -bias), b.ScalarLike(x, 0));
  c.Out(b.Select(low, b.PlusNumber(x, bias), inner));
}

void Gelu(OpContext& c) {
  const std::string form = c.Text("approximate", "none");
  if (form != "none" && form != "tanh") {
    return c.Fail("attribute 'approximate' must be none or tanh");
  }
  c.Out(form == "tanh" ? TanhGelu(c.b, c.In(0)) : ErfGelu(c.b, c.In(0)));
}

// The bounds are attributes before version 11 and operands since.
void Clip(OpContext& c) {
  ValueId x = c.In(0);
  const bool attrs = c.opset() < 11;
  if (attrs && c.HasAttr("min")) x = c.b.Max(x, c.b.ScalarLike(x, c.Float("min", 0)));
  if (attrs && c.HasAttr("max")) x = c.b.Min(x, c.b.ScalarLike(x, c.Float("max", 0)));
  if (!attrs && c.Has(1)) x = c.b.Max(x, c.b.Reshape(c.In(1), {}));
  if (!attrs && c.Has(2)) x = c.b.Min(x, c.b.Reshape(c.In(2), {}));
  c.Out(x);
}

constexpr OpRow kActivationRows[] = {
    {"Celu", Celu, 1, 1},
    {"Clip", Clip, 3, 1},
    {"Elu", Elu, 1, 1},
    {"Gelu", Gelu, 1, 1},
    {"HardSigmoid", HardSigmoid, 1, 1},
    {"HardSwish", HardSwish, 1, 1},
    {"LeakyRelu", LeakyRelu, 1, 1},
    {"Mish", Mish, 1, 1},
    {"PRelu", PRelu, 2, 1},
    {"Relu", Relu, 1, 1},
    {"Selu", Selu, 1, 1},
    {"Shrink", Shrink, 1, 1},
    {"Sigmoid", Sigmoid, 1, 1},
    {"Softplus", Softplus, 1, 1},
    {"Softsign", Softsign, 1, 1},
    {"SwiGLU", SwiGlu, 2, 1},
    {"Swish", Swish, 1, 1},
    {"ThresholdedRelu", ThresholdedRelu, 1, 1},
};

}  // namespace

std::span<const OpRow> ActivationOps() { return kActivationRows; }

}  // namespace mlc::graph::onnx
