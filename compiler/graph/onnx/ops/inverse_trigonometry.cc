// Inverse trigonometric and hyperbolic functions, to the precision of f32.
#include <cmath>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

ValueId Log(Builder& b, ValueId x) { return b.Apply(ScalarOp::kLog, {x}); }
ValueId Sqrt(Builder& b, ValueId x) { return b.Apply(ScalarOp::kSqrt, {x}); }
ValueId Abs(Builder& b, ValueId x) { return b.Apply(ScalarOp::kAbs, {x}); }

// number - x
ValueId Less(Builder& b, double number, ValueId x) { return b.Minus(b.ScalarLike(x, number), x); }

ValueId Above(Builder& b, ValueId x, double bound) {
  return b.Apply(ScalarOp::kLess, {b.ScalarLike(x, bound), x});
}

// atan(t) of t >= 0: reduced to [0, tan(pi/8)], where an odd polynomial of degree 9 is exact to
// 1e-8.
ValueId AtanOfPositive(Builder& b, ValueId t) {
  const ValueId beyond_one = Above(b, t, 1);
  const ValueId inverse = b.Over(b.ScalarLike(t, 1), t);
  const ValueId unit = b.Select(beyond_one, inverse, t);
  const ValueId upper = Above(b, unit, std::tan(M_PI / 8));
  const ValueId reduced = b.Over(b.PlusNumber(unit, -1.0), b.PlusNumber(unit, 1.0));
  const ValueId x = b.Select(upper, reduced, unit);
  const ValueId z = b.Times(x, x);
  ValueId y = b.PlusNumber(b.TimesNumber(z, 8.05374449538e-2), -1.38776856032e-1);
  y = b.PlusNumber(b.Times(y, z), 1.99777106478e-1);
  y = b.PlusNumber(b.Times(y, z), -3.33329491539e-1);
  y = b.Plus(b.Times(b.Times(y, z), x), x);
  y = b.Select(upper, b.PlusNumber(y, M_PI / 4), y);
  return b.Select(beyond_one, Less(b, M_PI / 2, y), y);
}

ValueId Atan(Builder& b, ValueId x) {
  return b.Times(b.Apply(ScalarOp::kSign, {x}), AtanOfPositive(b, Abs(b, x)));
}

void Atan(OpContext& c) { c.Out(Atan(c.b, c.In(0))); }

void Asin(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId size = Abs(b, x);
  const ValueId other = Sqrt(b, b.Times(Less(b, 1, size), b.PlusNumber(size, 1.0)));
  const ValueId angle = AtanOfPositive(b, b.Over(size, other));
  c.Out(b.Times(b.Apply(ScalarOp::kSign, {x}), angle));
}

void Acos(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId ratio = b.Over(Less(b, 1, x), b.PlusNumber(x, 1.0));
  c.Out(b.TimesNumber(AtanOfPositive(b, Sqrt(b, ratio)), 2.0));
}

void Asinh(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId size = Abs(b, x);
  const ValueId root = Sqrt(b, b.PlusNumber(b.Times(x, x), 1.0));
  c.Out(b.Times(b.Apply(ScalarOp::kSign, {x}), Log(b, b.Plus(size, root))));
}

void Acosh(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId square = b.Times(b.PlusNumber(x, -1.0), b.PlusNumber(x, 1.0));
  c.Out(Log(b, b.Plus(x, Sqrt(b, square))));
}

void Atanh(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId ratio = b.Over(b.PlusNumber(x, 1.0), Less(b, 1, x));
  c.Out(b.TimesNumber(Log(b, ratio), 0.5));
}

constexpr OpRow kInverseTrigonometryRows[] = {
    {"Acos", Acos, 1, 1},   {"Acosh", Acosh, 1, 1}, {"Asin", Asin, 1, 1},
    {"Asinh", Asinh, 1, 1}, {"Atan", Atan, 1, 1},   {"Atanh", Atanh, 1, 1},
};

}  // namespace

std::span<const OpRow> InverseTrigonometryOps() { return kInverseTrigonometryRows; }

}  // namespace mlc::graph::onnx
