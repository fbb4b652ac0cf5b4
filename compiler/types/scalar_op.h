// The scalar operators, one row each: the same table serves the graph's pointwise nodes, kernel IR,
// the printers, the interpreter, flop counts and the code generators. Adding an operator is one
// enumerator, one row, one case in each evaluator, and a test.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace mlc {

// IEEE 754 for floats, two's complement for integers. Comparisons give kBool; kAnd, kOr and kXor
// work on bits. kDiv and kMod of integers round towards negative infinity in index arithmetic
// (i64), kDiv of tensors' integers towards zero, as ONNX Div does; kFma is a*b+c rounded once.
enum class ScalarOp : uint8_t {
  // one operand
  kNeg,
  kAbs,
  kExp,
  kExp2,  // 2 to the power of the operand
  kLog,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kTanh,
  kSigmoid,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kNot,
  kIsNan,
  kRoundTf32,  // f32 to the nearest value with 10 bits of mantissa, ties away from zero
  // two operands
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kPow,
  kMax,
  kMin,
  kEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kXor,
  // three operands
  kFma,
  kSelect,  // kSelect(condition, if_true, if_false)
};

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;  // the spelling of every text form
  int arity;
  bool commutes;
  bool gives_bool;
  double flops;  // arithmetic cost of one element in fused-multiply-add units times two
};

const ScalarOpInfo& InfoOf(ScalarOp op);
Result<ScalarOp> ParseScalarOp(std::string_view name);
// What kRoundTf32 computes; infinities and NaN stay.
float RoundToTf32(float value);
// Number of rows; operators are 0 .. count-1.
int ScalarOpCount();

}  // namespace mlc
