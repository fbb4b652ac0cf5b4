// Scalar operators over broadcast operands: floats in double, integers and logic in 64 bits.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

// One row of each operand; stride 0 repeats the element.
template <typename T>
struct Row {
  const T* at = nullptr;
  int64_t stride = 0;
  T operator[](int64_t i) const { return at[i * stride]; }
};

template <typename T>
struct Rows {
  Row<T> a, b, c;
  T* out = nullptr;
  int64_t count = 0;

  template <typename F>
  void One(F f) const {
    for (int64_t i = 0; i < count; ++i) out[i] = f(a[i]);
  }
  template <typename F>
  void Two(F f) const {
    for (int64_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  }
};

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// Each is true if it knows the operator.
bool UnaryFloatRow(ScalarOp op, const Rows<double>& rows) {
  switch (op) {
    case ScalarOp::kNeg:
      return rows.One([](double x) { return -x; }), true;
    case ScalarOp::kAbs:
      return rows.One([](double x) { return std::abs(x); }), true;
    case ScalarOp::kExp:
      return rows.One([](double x) { return std::exp(x); }), true;
    case ScalarOp::kExp2:
      return rows.One([](double x) { return std::exp2(x); }), true;
    case ScalarOp::kLog:
      return rows.One([](double x) { return std::log(x); }), true;
    case ScalarOp::kSqrt:
      return rows.One([](double x) { return std::sqrt(x); }), true;
    case ScalarOp::kRsqrt:
      return rows.One([](double x) { return 1 / std::sqrt(x); }), true;
    case ScalarOp::kReciprocal:
      return rows.One([](double x) { return 1 / x; }), true;
    case ScalarOp::kTanh:
      return rows.One([](double x) { return std::tanh(x); }), true;
    case ScalarOp::kSigmoid:
      return rows.One([](double x) { return 1 / (1 + std::exp(-x)); }), true;
    case ScalarOp::kErf:
      return rows.One([](double x) { return std::erf(x); }), true;
    case ScalarOp::kSin:
      return rows.One([](double x) { return std::sin(x); }), true;
    case ScalarOp::kCos:
      return rows.One([](double x) { return std::cos(x); }), true;
    case ScalarOp::kFloor:
      return rows.One([](double x) { return std::floor(x); }), true;
    case ScalarOp::kCeil:
      return rows.One([](double x) { return std::ceil(x); }), true;
    case ScalarOp::kRound:  // halves to even
      return rows.One([](double x) { return std::nearbyint(x); }), true;
    case ScalarOp::kSign:
      return rows.One([](double x) { return Sign(x); }), true;
    case ScalarOp::kIsNan:
      return rows.One([](double x) { return std::isnan(x) ? 1.0 : 0.0; }), true;
    case ScalarOp::kRoundTf32:
      return rows.One([](double x) { return RoundToTf32(static_cast<float>(x)); }), true;
    default:
      return false;
  }
}

bool BinaryFloatRow(ScalarOp op, const Rows<double>& rows) {
  switch (op) {
    case ScalarOp::kAdd:
      return rows.Two([](double x, double y) { return x + y; }), true;
    case ScalarOp::kSub:
      return rows.Two([](double x, double y) { return x - y; }), true;
    case ScalarOp::kMul:
      return rows.Two([](double x, double y) { return x * y; }), true;
    case ScalarOp::kDiv:
      return rows.Two([](double x, double y) { return x / y; }), true;
    case ScalarOp::kMod:  // the sign of the dividend
      return rows.Two([](double x, double y) { return std::fmod(x, y); }), true;
    case ScalarOp::kPow:
      return rows.Two([](double x, double y) { return std::pow(x, y); }), true;
    case ScalarOp::kMax:  // a NaN wins
      return rows.Two([](double x, double y) { return x > y || std::isnan(x) ? x : y; }), true;
    case ScalarOp::kMin:
      return rows.Two([](double x, double y) { return x < y || std::isnan(x) ? x : y; }), true;
    case ScalarOp::kEqual:
      return rows.Two([](double x, double y) { return x == y ? 1.0 : 0.0; }), true;
    case ScalarOp::kLess:
      return rows.Two([](double x, double y) { return x < y ? 1.0 : 0.0; }), true;
    case ScalarOp::kLessEqual:
      return rows.Two([](double x, double y) { return x <= y ? 1.0 : 0.0; }), true;
    default:
      return false;
  }
}

bool TernaryFloatRow(ScalarOp op, const Rows<double>& rows) {
  switch (op) {
    case ScalarOp::kFma:
      for (int64_t i = 0; i < rows.count; ++i) {
        rows.out[i] = std::fma(rows.a[i], rows.b[i], rows.c[i]);
      }
      return true;
    case ScalarOp::kSelect:
      for (int64_t i = 0; i < rows.count; ++i) {
        rows.out[i] = rows.a[i] != 0 ? rows.b[i] : rows.c[i];
      }
      return true;
    default:
      return false;
  }
}

// True if the operator is defined on floats.
bool FloatRow(ScalarOp op, const Rows<double>& rows) {
  return UnaryFloatRow(op, rows) || BinaryFloatRow(op, rows) || TernaryFloatRow(op, rows);
}

// Two's complement without undefined overflow.
int64_t Wrap(uint64_t x) { return static_cast<int64_t>(x); }
uint64_t Bits(int64_t x) { return static_cast<uint64_t>(x); }

int64_t Quotient(int64_t x, int64_t y) { return y == -1 ? Wrap(0 - Bits(x)) : x / y; }

// The sign of the divisor.
int64_t Modulo(int64_t x, int64_t y) {
  if (y == -1) return 0;
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

int64_t Power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, square = Bits(base);
  for (uint64_t rest = Bits(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return Wrap(result);
}

// True if the operator is defined on integers. REQUIRES: no divisor is zero.
bool IntRow(ScalarOp op, const Rows<int64_t>& rows) {
  switch (op) {
    case ScalarOp::kNeg:
      return rows.One([](int64_t x) { return Wrap(0 - Bits(x)); }), true;
    case ScalarOp::kAbs:
      return rows.One([](int64_t x) { return x < 0 ? Wrap(0 - Bits(x)) : x; }), true;
    case ScalarOp::kSign:
      return rows.One([](int64_t x) { return int64_t{x > 0} - int64_t{x < 0}; }), true;
    case ScalarOp::kNot:
      return rows.One([](int64_t x) { return int64_t{x == 0}; }), true;
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
      return rows.One([](int64_t x) { return x; }), true;
    case ScalarOp::kIsNan:
      return rows.One([](int64_t) { return int64_t{0}; }), true;
    case ScalarOp::kAdd:
      return rows.Two([](int64_t x, int64_t y) { return Wrap(Bits(x) + Bits(y)); }), true;
    case ScalarOp::kSub:
      return rows.Two([](int64_t x, int64_t y) { return Wrap(Bits(x) - Bits(y)); }), true;
    case ScalarOp::kMul:
      return rows.Two([](int64_t x, int64_t y) { return Wrap(Bits(x) * Bits(y)); }), true;
    case ScalarOp::kDiv:
      return rows.Two(Quotient), true;
    case ScalarOp::kMod:
      return rows.Two(Modulo), true;
    case ScalarOp::kPow:
      return rows.Two(Power), true;
    case ScalarOp::kMax:
      return rows.Two([](int64_t x, int64_t y) { return x > y ? x : y; }), true;
    case ScalarOp::kMin:
      return rows.Two([](int64_t x, int64_t y) { return x < y ? x : y; }), true;
    case ScalarOp::kEqual:
      return rows.Two([](int64_t x, int64_t y) { return int64_t{x == y}; }), true;
    case ScalarOp::kLess:
      return rows.Two([](int64_t x, int64_t y) { return int64_t{x < y}; }), true;
    case ScalarOp::kLessEqual:
      return rows.Two([](int64_t x, int64_t y) { return int64_t{x <= y}; }), true;
    case ScalarOp::kAnd:
      return rows.Two([](int64_t x, int64_t y) { return x & y; }), true;
    case ScalarOp::kOr:
      return rows.Two([](int64_t x, int64_t y) { return x | y; }), true;
    case ScalarOp::kXor:
      return rows.Two([](int64_t x, int64_t y) { return x ^ y; }), true;
    case ScalarOp::kFma:
      for (int64_t i = 0; i < rows.count; ++i) {
        rows.out[i] = Wrap(Bits(rows.a[i]) * Bits(rows.b[i]) + Bits(rows.c[i]));
      }
      return true;
    case ScalarOp::kSelect:
      for (int64_t i = 0; i < rows.count; ++i) {
        rows.out[i] = rows.a[i] != 0 ? rows.b[i] : rows.c[i];
      }
      return true;
    default:
      return false;
  }
}

// The index space with adjacent dimensions merged where every operand allows it.
struct Space {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // [operand][dimension]
};

Space Merge(const Value& node, Operands operands) {
  Space space;
  space.strides.resize(operands.size());
  std::vector<std::vector<int64_t>> full;
  for (const TensorDataRef& operand : operands) {
    full.push_back(BroadcastStrides(operand->dims, node.type.dims));
  }
  for (size_t d = 0; d < node.type.dims.size(); ++d) {
    const int64_t dim = node.type.dims[d];
    if (dim == 1) continue;
    bool merges = !space.dims.empty();
    for (size_t i = 0; merges && i < full.size(); ++i) {
      merges = space.strides[i].back() == full[i][d] * dim;
    }
    if (merges) {
      space.dims.back() *= dim;
    } else {
      space.dims.push_back(dim);
    }
    for (size_t i = 0; i < full.size(); ++i) {
      if (merges) space.strides[i].pop_back();
      space.strides[i].push_back(full[i][d]);
    }
  }
  return space;
}

template <typename T>
Result<std::vector<T>> Run(const Value& node, Operands operands,
                           const std::vector<std::vector<T>>& values) {
  std::vector<T> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty()) return out;
  Space space = Merge(node, operands);
  const bool scalar = space.dims.empty();
  Rows<T> rows;
  rows.count = scalar ? 1 : space.dims.back();
  Row<T>* row_of[] = {&rows.a, &rows.b, &rows.c};
  for (size_t i = 0; i < values.size(); ++i) {
    row_of[i]->stride = scalar ? 0 : space.strides[i].back();
  }
  std::span<const int64_t> outer(space.dims);
  if (!scalar) outer = outer.first(outer.size() - 1);
  std::vector<int64_t> at(outer.size(), 0);
  rows.out = out.data();
  do {
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * space.strides[i][d];
      row_of[i]->at = values[i].data() + offset;
    }
    bool defined = false;
    if constexpr (std::is_same_v<T, double>) {
      defined = FloatRow(node.scalar, rows);
    } else {
      defined = IntRow(node.scalar, rows);
    }
    if (!defined) return Unimplemented("not defined on this element type");
    rows.out += rows.count;
  } while (NextIndex(outer, at));
  return out;
}

}  // namespace

Result<TensorDataRef> EvaluatePointwise(const Value& node, Operands operands) {
  if (IsFloat(operands.back()->dtype)) {
    std::vector<std::vector<double>> values;
    for (const TensorDataRef& operand : operands) values.push_back(ReadDoubles(*operand));
    const std::vector<double> out = MLC_TRY(Run<double>(node, operands, values));
    return WriteDoubles(node.type.dtype, node.type.dims, out);
  }
  std::vector<std::vector<int64_t>> values;
  for (const TensorDataRef& operand : operands) values.push_back(ReadInts(*operand));
  if (node.scalar == ScalarOp::kDiv || node.scalar == ScalarOp::kMod) {
    for (const int64_t divisor : values[1]) {
      if (divisor == 0) return InvalidArgument("division of an integer by zero");
    }
  }
  const std::vector<int64_t> out = MLC_TRY(Run<int64_t>(node, operands, values));
  return WriteInts(node.type.dtype, node.type.dims, out);
}

Result<TensorDataRef> EvaluateCast(const Value& node, Operands operands) {
  const TensorData& from = *operands[0];
  if (from.dtype == node.type.dtype) return operands[0];
  if (IsFloat(from.dtype)) return WriteDoubles(node.type.dtype, from.dims, ReadDoubles(from));
  return WriteInts(node.type.dtype, from.dims, ReadInts(from));
}

}  // namespace mlc::graph::evaluate_internal
