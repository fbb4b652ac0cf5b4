// Operators that are one scalar operator, or a few, element by element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

template <ScalarOp op>
void Unary(OpContext& c) {
  c.Out(c.b.Apply(op, {c.In(0)}));
}

// Before version 7 broadcasting was asked for, with `axis` naming where the right operand's
// dimensions stand in the left one's.
ValueId RightOperand(OpContext& c) {
  const ValueId b = c.In(1);
  if (c.opset() >= 7 || !c.HasAttr("axis")) return b;
  const int64_t axis = Axis(c, c.Int("axis", 0), c.b.RankOf(c.In(0)));
  Dims dims = c.b.DimsOf(b);
  const int64_t trailing = c.b.RankOf(c.In(0)) - axis - static_cast<int64_t>(dims.size());
  if (trailing > 0) dims.insert(dims.end(), static_cast<size_t>(trailing), 1);
  return c.b.Reshape(b, dims);
}

template <ScalarOp op>
void Binary(OpContext& c) {
  const ValueId a = c.In(0);
  c.Out(c.b.Apply(op, {a, RightOperand(c)}));
}

// Logic of booleans, or of the bits of integers.
template <ScalarOp op, bool bits>
void Logic(OpContext& c) {
  const DType type = c.b.DTypeOf(c.In(0));
  if (c.ok() && (IsFloat(type) || (type == DType::kBool) == bits)) {
    return c.Fail(bits ? "the operands must be integers" : "the operands must be bool");
  }
  Binary<op>(c);
}

void BitwiseNot(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const DType type = b.DTypeOf(x);
  if (c.ok() && (IsFloat(type) || type == DType::kBool)) {
    return c.Fail("the operand must be an integer");
  }
  // -1 also where a double does not hold the largest number.
  const double ones = IsUnsigned(type) && SizeOf(type) < 8 ? std::ldexp(1, BitsOf(type)) - 1 : -1;
  c.Out(b.Apply(ScalarOp::kXor, {x, b.ScalarLike(x, ones)}));
}

// Of unsigned numbers: what is shifted out is lost, so that distances beyond the type give zero.
void BitShift(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId distance = c.In(1);
  const std::string direction = c.Text("direction", "");
  if (!c.ok()) return;
  if (direction != "LEFT" && direction != "RIGHT") return c.Fail("direction must be LEFT or RIGHT");
  const DType type = b.DTypeOf(x);
  if (!IsUnsigned(type)) return c.Fail("the operands must be unsigned");
  const DType form = type == DType::kU8 ? DType::kI32 : DType::kU64;
  const auto wide = [&](ValueId v) { return b.Cast(v, form); };
  const int most = std::min(BitsOf(type), 63);
  const ValueId places = b.Min(wide(distance), b.Scalar(form, most));
  const ValueId factor = b.Apply(ScalarOp::kPow, {b.Scalar(form, 2), places});
  const bool left = direction == "LEFT";
  ValueId shifted = left ? b.Times(wide(x), factor) : b.Over(wide(x), factor);
  if (type == DType::kU64) {
    const ValueId beyond = b.Apply(ScalarOp::kLess, {b.Scalar(form, most), wide(distance)});
    shifted = b.Apply(ScalarOp::kSelect, {beyond, b.Scalar(form, 0), shifted});
  }
  c.Out(b.Cast(shifted, type));
}

template <ScalarOp op>
void Swapped(OpContext& c) {
  const ValueId a = c.In(0);
  c.Out(c.b.Apply(op, {RightOperand(c), a}));
}

template <ScalarOp op>
ValueId Chain(OpContext& c) {
  ValueId sum = c.In(0);
  for (int i = 1; i < c.OperandCount(); ++i) sum = c.b.Apply(op, {sum, c.In(i)});
  return sum;
}

template <ScalarOp op>
void Variadic(OpContext& c) {
  c.Out(Chain<op>(c));
}

void Mean(OpContext& c) {
  const ValueId sum = Chain<ScalarOp::kAdd>(c);
  c.Out(c.b.Over(sum, c.b.ScalarLike(sum, c.OperandCount())));
}

// The result has the base's type, whatever the exponent's is.
void Pow(OpContext& c) {
  Builder& b = c.b;
  const ValueId base = c.In(0);
  const ValueId exponent = RightOperand(c);
  const DType type = b.DTypeOf(base);
  if (!IsFloat(type) && IsFloat(b.DTypeOf(exponent))) {
    const ValueId power =
        b.Apply(ScalarOp::kPow, {b.Cast(base, DType::kF64), b.Cast(exponent, DType::kF64)});
    // A whole power must not fall below itself by the rounding of its logarithm.
    constexpr double kSlack = 1 + 1e-13;
    return c.Out(b.Cast(b.TimesNumber(power, kSlack), type));
  }
  c.Out(b.Apply(ScalarOp::kPow, {base, b.Cast(exponent, type)}));
}

// fmod=0 takes the divisor's sign, fmod=1 the dividend's.
void Mod(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId y = c.In(1);
  const bool is_float = IsFloat(b.DTypeOf(x));
  if (!c.Flag("fmod", false)) {
    if (is_float) return c.Fail("floats need fmod=1");
    return c.Out(b.Apply(ScalarOp::kMod, {x, y}));
  }
  if (!is_float) return c.Out(b.Minus(x, b.Times(b.Over(x, y), y)));
  const ValueId ratio = b.Apply(ScalarOp::kAbs, {b.Over(x, y)});
  const ValueId whole = b.Apply(ScalarOp::kFloor, {ratio});
  const ValueId size = b.Apply(ScalarOp::kAbs, {y});
  const ValueId rest = b.Minus(b.Apply(ScalarOp::kAbs, {x}), b.Times(whole, size));
  c.Out(b.Times(rest, b.Apply(ScalarOp::kSign, {x})));
}

void IsInf(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool positive = c.Flag("detect_positive", true);
  const bool negative = c.Flag("detect_negative", true);
  const ValueId above = b.Apply(ScalarOp::kEqual, {x, b.ScalarLike(x, kInfinity)});
  const ValueId below = b.Apply(ScalarOp::kEqual, {x, b.ScalarLike(x, -kInfinity)});
  if (positive && negative) return c.Out(b.Apply(ScalarOp::kOr, {above, below}));
  if (positive) return c.Out(above);
  if (negative) return c.Out(below);
  c.Out(b.Expand(b.Scalar(DType::kBool, 0), b.DimsOf(x)));
}

void Tan(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Over(c.b.Apply(ScalarOp::kSin, {x}), c.b.Apply(ScalarOp::kCos, {x})));
}

void Where(OpContext& c) {
  const ValueId condition = c.In(0);
  const ValueId yes = c.In(1);
  c.Out(c.b.Select(condition, yes, c.In(2)));
}

// Cosh and Sinh from the exponential of both signs.
template <ScalarOp join>
void Hyperbolic(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId up = b.Apply(ScalarOp::kExp, {x});
  const ValueId down = b.Apply(ScalarOp::kExp, {b.Apply(ScalarOp::kNeg, {x})});
  c.Out(b.TimesNumber(b.Apply(join, {up, down}), 0.5));
}

constexpr OpRow kPointwiseRows[] = {
    {"Abs", Unary<ScalarOp::kAbs>, 1, 1},
    {"Add", Binary<ScalarOp::kAdd>, 2, 1},
    {"And", Logic<ScalarOp::kAnd, false>, 2, 1},
    {"BitShift", BitShift, 2, 1},
    {"BitwiseAnd", Logic<ScalarOp::kAnd, true>, 2, 1},
    {"BitwiseNot", BitwiseNot, 1, 1},
    {"BitwiseOr", Logic<ScalarOp::kOr, true>, 2, 1},
    {"BitwiseXor", Logic<ScalarOp::kXor, true>, 2, 1},
    {"Ceil", Unary<ScalarOp::kCeil>, 1, 1},
    {"Cos", Unary<ScalarOp::kCos>, 1, 1},
    {"Cosh", Hyperbolic<ScalarOp::kAdd>, 1, 1},
    {"Div", Binary<ScalarOp::kDiv>, 2, 1},
    {"Equal", Binary<ScalarOp::kEqual>, 2, 1},
    {"Erf", Unary<ScalarOp::kErf>, 1, 1},
    {"Exp", Unary<ScalarOp::kExp>, 1, 1},
    {"Floor", Unary<ScalarOp::kFloor>, 1, 1},
    {"Greater", Swapped<ScalarOp::kLess>, 2, 1},
    {"GreaterOrEqual", Swapped<ScalarOp::kLessEqual>, 2, 1},
    {"IsInf", IsInf, 1, 1},
    {"IsNaN", Unary<ScalarOp::kIsNan>, 1, 1},
    {"Less", Binary<ScalarOp::kLess>, 2, 1},
    {"LessOrEqual", Binary<ScalarOp::kLessEqual>, 2, 1},
    {"Log", Unary<ScalarOp::kLog>, 1, 1},
    {"Max", Variadic<ScalarOp::kMax>, kVariadic, 1},
    {"Mean", Mean, kVariadic, 1},
    {"Min", Variadic<ScalarOp::kMin>, kVariadic, 1},
    {"Mod", Mod, 2, 1},
    {"Mul", Binary<ScalarOp::kMul>, 2, 1},
    {"Neg", Unary<ScalarOp::kNeg>, 1, 1},
    {"Not", Unary<ScalarOp::kNot>, 1, 1},
    {"Or", Logic<ScalarOp::kOr, false>, 2, 1},
    {"Pow", Pow, 2, 1},
    {"Reciprocal", Unary<ScalarOp::kReciprocal>, 1, 1},
    {"Round", Unary<ScalarOp::kRound>, 1, 1},
    {"Sign", Unary<ScalarOp::kSign>, 1, 1},
    {"Sin", Unary<ScalarOp::kSin>, 1, 1},
    {"Sinh", Hyperbolic<ScalarOp::kSub>, 1, 1},
    {"Sqrt", Unary<ScalarOp::kSqrt>, 1, 1},
    {"Sub", Binary<ScalarOp::kSub>, 2, 1},
    {"Sum", Variadic<ScalarOp::kAdd>, kVariadic, 1},
    {"Tan", Tan, 1, 1},
    {"Tanh", Unary<ScalarOp::kTanh>, 1, 1},
    {"Where", Where, 3, 1},
    {"Xor", Logic<ScalarOp::kXor, false>, 2, 1},
};

}  // namespace

std::span<const OpRow> PointwiseOps() { return kPointwiseRows; }

}  // namespace mlc::graph::onnx
