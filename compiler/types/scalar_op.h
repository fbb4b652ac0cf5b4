// The scalar operators, one row each: the same table serves the graph's pointwise nodes, kernel IR,
// its text, the interpreters, flop counts, the CUDA printer and the lists of the tests. To add an
// operator: an enumerator and its row here, and its instructions in compiler/codegen/scalar_ops.cc.
// Immutable; thread-safe.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "compiler/types/scalar_arithmetic.h"
#include "compiler/types/scalar_op_info.h"

namespace mlc {

// IEEE 754 for floats, two's complement for integers. Comparisons give kBool; kAnd, kOr and kXor
// work on bits. kDiv and kMod of integers round towards negative infinity in index arithmetic
// (i64), kDiv of tensors' integers towards zero, as ONNX Div does; kFma is a*b+c rounded once.
// kExp2 is 2 to the power of the operand, kLog1p the logarithm of one more, kRoundTf32 gives the
// nearest f32 with 10 bits of mantissa, ties away from zero, kSelect(condition, if_true, if_false).
// kDot4(a, b, c) takes words of four bytes, the first in the low bits: c plus the sum of products
// of the unsigned bytes of a and the signed bytes of b, which wraps.
// clang-format off
enum class ScalarOp : uint8_t {
  // one operand
  kNeg, kAbs, kExp, kExp2, kLog, kLog1p, kSqrt, kRsqrt, kReciprocal, kTanh, kSigmoid, kErf, kSin,
  kCos, kFloor, kCeil, kRound, kSign, kNot, kIsNan, kRoundTf32,
  // two operands
  kAdd, kSub, kMul, kDiv, kMod, kPow, kMax, kMin, kEqual, kLess, kLessEqual, kAnd, kOr, kXor,
  // three operands
  kFma, kDot4, kSelect,
};

namespace scalar {

using enum ScalarOp;
using enum OperandTypes;
inline constexpr unsigned kNarrow = kExact | kKeepsNarrow;
inline constexpr unsigned kCompares = kExact | kGivesBool;

// Operator, name, operands in kernel IR, traits, flops; CUDA; on floats; on integers; errors.
inline constexpr auto kRows = std::to_array<ScalarOpInfo>({
    {kNeg, "neg", kNumbers, kNarrow, 1, {},
     [](auto x) { return -x; }, [](int64_t x) { return Wrap(0 - Bits(x)); }},
    {kAbs, "abs", kNumbers, kNarrow, 1, {"fabs"},
     [](auto x) { return std::abs(x); }, [](int64_t x) { return x < 0 ? Wrap(0 - Bits(x)) : x; }},
    {kExp, "exp", kFloats, 0, 16, {"exp", "ExpApprox"},
     [](auto x) { return std::exp(x); }, {}, {-87, 88.7, 2e-7, 4e-16}},
    {kExp2, "exp2", kFloats, 0, 12, {"exp2", "Exp2Approx"},
     [](auto x) { return std::exp2(x); }, {}, {-126, 127.9, 2e-7, 4e-16}},
    {kLog, "log", kFloats, kPositiveFirst, 20, {"log"},
     [](auto x) { return std::log(x); }, {}, {1e-30, 1e4, 2e-7, 8e-16}},
    {kLog1p, "log1p", kFloats, kPositiveFirst, 30, {"log1p"},
     [](auto x) { return std::log1p(x); }, {}, {-0.99, 1e4, 4e-7, 1.5e-15}},
    {kSqrt, "sqrt", kFloats, kExact | kPositiveFirst, 8, {"sqrt", "SqrtApprox"},
     [](auto x) { return std::sqrt(x); }, {}},
    {kRsqrt, "rsqrt", kFloats, kPositiveFirst, 10, {"rsqrt", "RsqrtApprox"},
     [](auto x) { return 1 / std::sqrt(x); }, {}, {1e-20, 1e6, 2e-7, 4e-16}},
    {kReciprocal, "reciprocal", kFloats, kExact | kPositiveFirst, 6, {"", "ReciprocalApprox"},
     [](auto x) { return 1 / x; }, {}},
    {kTanh, "tanh", kFloats, 0, 24, {"tanh", "TanhApprox"},
     [](auto x) { return std::tanh(x); }, {}, {-12, 12, 4e-7, 2e-15}},
    {kSigmoid, "sigmoid", kFloats, 0, 22, {"Sigmoid", "SigmoidApprox"},
     [](auto x) { return 1 / (1 + std::exp(-x)); }, {}, {-80, 40, 4e-7, 2e-15}},
    {kErf, "erf", kFloats, 0, 30, {"erf", "ErfApprox"},
     [](auto x) { return std::erf(x); }, {}, {-6.5, 6.5, 4e-7, 2e-15}},
    {kSin, "sin", kFloats, 0, 20, {"sin"},
     [](auto x) { return std::sin(x); }, {}, {-100, 100, 3e-7, 5e-16, true}},
    {kCos, "cos", kFloats, 0, 20, {"cos"},
     [](auto x) { return std::cos(x); }, {}, {-100, 100, 3e-7, 5e-16, true}},
    {kFloor, "floor", kFloats, kNarrow, 1, {"floor"},
     [](auto x) { return std::floor(x); }, [](int64_t x) { return x; }},
    {kCeil, "ceil", kFloats, kNarrow, 1, {"ceil"},
     [](auto x) { return std::ceil(x); }, [](int64_t x) { return x; }},
    {kRound, "round", kFloats, kNarrow, 1, {"rint"},  // halves to even
     [](auto x) { return std::nearbyint(x); }, [](int64_t x) { return x; }},
    {kSign, "sign", kNumbers, kNarrow, 2, {"Sign"},
     [](auto x) { return x > 0 ? 1 : x < 0 ? -1 : x; },
     [](int64_t x) { return int64_t{x > 0} - int64_t{x < 0}; }},
    {kNot, "not", kBool, kGivesBool, 1, {}, {}, [](int64_t x) { return int64_t{x == 0}; }},
    {kIsNan, "is_nan", kFloats, kCompares, 1, {"IsNan"},
     [](auto x) -> decltype(x) { return std::isnan(x); }, [](int64_t) { return int64_t{0}; }},
    {kRoundTf32, "round_tf32", kFloats, kNarrow, 2, {"RoundTf32"},
     [](auto x) -> decltype(x) { return RoundToTf32(static_cast<float>(x)); }, {}},
    {kAdd, "add", kNumbers, kExact | kCommutes, 1, {},
     [](auto x, auto y) { return x + y; },
     [](int64_t x, int64_t y) { return Wrap(Bits(x) + Bits(y)); }},
    {kSub, "sub", kNumbers, kExact, 1, {},
     [](auto x, auto y) { return x - y; },
     [](int64_t x, int64_t y) { return Wrap(Bits(x) - Bits(y)); }},
    {kMul, "mul", kNumbers, kExact | kCommutes, 1, {},
     [](auto x, auto y) { return x * y; },
     [](int64_t x, int64_t y) { return Wrap(Bits(x) * Bits(y)); }},
    {kDiv, "div", kNumbers, kExact | kPositiveSecond, 8, {"", "DivideApprox"},
     [](auto x, auto y) { return x / y; }, Quotient},
    {kMod, "mod", kNumbers, kKeepsNarrow | kPositiveSecond, 10, {"fmod"},
     [](auto x, auto y) { return std::fmod(x, y); }, FloorRest},
    {kPow, "pow", kNumbers, kPositiveFirst, 40, {"pow"},
     [](auto x, auto y) { return std::pow(x, y); }, Power},
    {kMax, "max", kNumbers, kNarrow | kCommutes, 1, {"Max"},  // a NaN wins, as in min
     [](auto x, auto y) { return x > y || std::isnan(x) ? x : y; },
     [](int64_t x, int64_t y) { return x > y ? x : y; }},
    {kMin, "min", kNumbers, kNarrow | kCommutes, 1, {"Min"},
     [](auto x, auto y) { return x < y || std::isnan(x) ? x : y; },
     [](int64_t x, int64_t y) { return x < y ? x : y; }},
    {kEqual, "equal", kAny, kCompares | kCommutes, 1, {},
     [](auto x, auto y) -> decltype(x) { return x == y; },
     [](int64_t x, int64_t y) { return int64_t{x == y}; }},
    {kLess, "less", kNumbers, kCompares, 1, {},
     [](auto x, auto y) -> decltype(x) { return x < y; },
     [](int64_t x, int64_t y) { return int64_t{x < y}; }},
    {kLessEqual, "less_equal", kNumbers, kCompares, 1, {},
     [](auto x, auto y) -> decltype(x) { return x <= y; },
     [](int64_t x, int64_t y) { return int64_t{x <= y}; }},
    {kAnd, "and", kBits, kCommutes, 1, {}, {}, [](int64_t x, int64_t y) { return x & y; }},
    {kOr, "or", kBits, kCommutes, 1, {}, {}, [](int64_t x, int64_t y) { return x | y; }},
    {kXor, "xor", kBits, kCommutes, 1, {}, {}, [](int64_t x, int64_t y) { return x ^ y; }},
    {kFma, "fma", kFloats, 0, 2, {"fma"},
     [](auto x, auto y, auto z) { return std::fma(x, y, z); },
     [](int64_t x, int64_t y, int64_t z) { return Wrap(Bits(x) * Bits(y) + Bits(z)); }},
    {kDot4, "dot4", kWords, 0, 2, {}, {}, DotOfBytes},
    {kSelect, "select", kAny, 0, 1, {},
     [](auto c, auto x, auto y) { return c != 0 ? x : y; },
     [](int64_t c, int64_t x, int64_t y) { return c != 0 ? x : y; }},
});
// clang-format on

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].op != static_cast<ScalarOp>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());
static_assert(kRows.back().op == kSelect, "every operator has a row");

}  // namespace scalar

inline const ScalarOpInfo& InfoOf(ScalarOp op) { return scalar::kRows[static_cast<size_t>(op)]; }
Result<ScalarOp> ParseScalarOp(std::string_view name);
// Number of rows; operators are 0 .. count-1.
inline int ScalarOpCount() { return static_cast<int>(scalar::kRows.size()); }

}  // namespace mlc
