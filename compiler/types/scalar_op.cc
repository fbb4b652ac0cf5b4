#include "compiler/types/scalar_op.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace mlc {

namespace {

constexpr std::array<ScalarOpInfo, 36> kOps = {{
    {ScalarOp::kNeg, "neg", 1, false, false, 1},
    {ScalarOp::kAbs, "abs", 1, false, false, 1},
    {ScalarOp::kExp, "exp", 1, false, false, 16},
    {ScalarOp::kExp2, "exp2", 1, false, false, 12},
    {ScalarOp::kLog, "log", 1, false, false, 20},
    {ScalarOp::kSqrt, "sqrt", 1, false, false, 8},
    {ScalarOp::kRsqrt, "rsqrt", 1, false, false, 10},
    {ScalarOp::kReciprocal, "reciprocal", 1, false, false, 6},
    {ScalarOp::kTanh, "tanh", 1, false, false, 24},
    {ScalarOp::kSigmoid, "sigmoid", 1, false, false, 22},
    {ScalarOp::kErf, "erf", 1, false, false, 30},
    {ScalarOp::kSin, "sin", 1, false, false, 20},
    {ScalarOp::kCos, "cos", 1, false, false, 20},
    {ScalarOp::kFloor, "floor", 1, false, false, 1},
    {ScalarOp::kCeil, "ceil", 1, false, false, 1},
    {ScalarOp::kRound, "round", 1, false, false, 1},
    {ScalarOp::kSign, "sign", 1, false, false, 2},
    {ScalarOp::kNot, "not", 1, false, true, 1},
    {ScalarOp::kIsNan, "is_nan", 1, false, true, 1},
    {ScalarOp::kRoundTf32, "round_tf32", 1, false, false, 2},
    {ScalarOp::kAdd, "add", 2, true, false, 1},
    {ScalarOp::kSub, "sub", 2, false, false, 1},
    {ScalarOp::kMul, "mul", 2, true, false, 1},
    {ScalarOp::kDiv, "div", 2, false, false, 8},
    {ScalarOp::kMod, "mod", 2, false, false, 10},
    {ScalarOp::kPow, "pow", 2, false, false, 40},
    {ScalarOp::kMax, "max", 2, true, false, 1},
    {ScalarOp::kMin, "min", 2, true, false, 1},
    {ScalarOp::kEqual, "equal", 2, true, true, 1},
    {ScalarOp::kLess, "less", 2, false, true, 1},
    {ScalarOp::kLessEqual, "less_equal", 2, false, true, 1},
    {ScalarOp::kAnd, "and", 2, true, false, 1},
    {ScalarOp::kOr, "or", 2, true, false, 1},
    {ScalarOp::kXor, "xor", 2, true, false, 1},
    {ScalarOp::kFma, "fma", 3, false, false, 2},
    {ScalarOp::kSelect, "select", 3, false, false, 1},
}};

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].op != static_cast<ScalarOp>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());
static_assert(kOps.back().op == ScalarOp::kSelect, "every operator has a row");

}  // namespace

const ScalarOpInfo& InfoOf(ScalarOp op) { return kOps[static_cast<size_t>(op)]; }

Result<ScalarOp> ParseScalarOp(std::string_view name) {
  for (const ScalarOpInfo& row : kOps) {
    if (row.name == name) return row.op;
  }
  return InvalidArgument("unknown scalar operator '" + std::string(name) + "'");
}

float RoundToTf32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  constexpr uint32_t kExponent = 0x7f800000;
  if ((bits & kExponent) == kExponent) return value;
  return std::bit_cast<float>((bits + 0x1000U) & ~0x1fffU);
}

int ScalarOpCount() { return static_cast<int>(kOps.size()); }

}  // namespace mlc
