// Rules that the builder, the parser, the verifier and the interpreter share: which names are
// allowed, which types an operator takes and gives, and how a value is rounded to an element type.
// Thread-safe (no state).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

inline constexpr int kMaxLanes = 64;
// Most nested blocks and expressions, so that recursion over hostile text fits any thread's stack.
inline constexpr int kMaxDepth = 512;
inline constexpr int64_t kMaxBufferSize = int64_t{1} << 40;

// [a-z_][a-z0-9_]*, at most 128 characters, and no word of the text form.
bool IsName(std::string_view name);

// INVALID_ARGUMENT when the operands do not fit the operator. Float-only operators take floats,
// logic takes kBool, comparison of kBool is kEqual only.
Result<Type> TypeOfApply(ScalarOp op, std::span<const ExprRef> args);
Result<Type> TypeOfReduce(ScalarOp op, const ExprRef& value);
bool IsIndex(const ExprRef& e);  // an i64 scalar
bool IsLanes(int64_t lanes);     // 1 .. kMaxLanes

// The nearest value of a float type, ties to even; overflow gives infinity.
double RoundTo(DType dtype, double value);
// What a code of 4 or 8 bits becomes too large by when its bits are put into the mantissa of a
// float of the type: a power of two, whose float has the code in its low bits; 0 if the mantissa of
// bf16 is too short.
int BiasOfCodes(DType dtype, int bits);
// The low bits of an integer type, sign- or zero-extended; kBool is "not zero".
int64_t WrapTo(DType dtype, int64_t value);

}  // namespace mlc::ir
