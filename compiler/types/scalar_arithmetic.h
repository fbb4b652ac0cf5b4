// Arithmetic that the table of scalar operators and their interpreters share: integers in two's
// complement without undefined overflow, and the rounding of matrix units. Pure functions.
#pragma once

#include <cstdint>

namespace mlc {
enum class ScalarOp : uint8_t;
}

namespace mlc::scalar {

constexpr uint64_t Bits(int64_t x) { return static_cast<uint64_t>(x); }
constexpr int64_t Wrap(uint64_t x) { return static_cast<int64_t>(x); }

// Rounds towards zero. REQUIRES: y is not 0, here and below.
int64_t Quotient(int64_t x, int64_t y);
// Rounds towards negative infinity.
int64_t FloorQuotient(int64_t x, int64_t y);
// The remainder of FloorQuotient, with the sign of y.
int64_t FloorRest(int64_t x, int64_t y);
// A negative exponent gives 1 or -1 of a base of 1 or -1, and 0 of any other.
int64_t Power(int64_t base, int64_t exponent);
// What an operator of one or two operands gives of 64-bit integers without sign, where that is
// another result than of those with one; false where it is the same. REQUIRES: no divisor is 0.
bool ApplyUnsigned(ScalarOp op, int64_t x, int64_t y, int64_t* result);
// The result of ScalarOp::kDot4.
int64_t DotOfBytes(int64_t x, int64_t y, int64_t sum);
// The result of ScalarOp::kRoundTf32; infinities and NaN are unchanged.
float RoundToTf32(float value);

}  // namespace mlc::scalar
