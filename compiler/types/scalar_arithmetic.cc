#include "compiler/types/scalar_arithmetic.h"

#include <algorithm>
#include <bit>

#include "compiler/types/scalar_op.h"

namespace mlc::scalar {

int64_t Quotient(int64_t x, int64_t y) { return y == -1 ? Wrap(0 - Bits(x)) : x / y; }

int64_t FloorQuotient(int64_t x, int64_t y) {
  if (y == -1) return Wrap(0 - Bits(x));
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

int64_t FloorRest(int64_t x, int64_t y) {
  if (y == -1) return 0;
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

namespace {

int64_t WholePower(uint64_t base, uint64_t exponent) {
  uint64_t result = 1, square = base;
  for (uint64_t rest = exponent; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= square;
    square *= square;
  }
  return Wrap(result);
}

}  // namespace

int64_t Power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  return WholePower(Bits(base), Bits(exponent));
}

bool ApplyUnsigned(ScalarOp op, int64_t x, int64_t y, int64_t* result) {
  const uint64_t a = Bits(x);
  const uint64_t b = Bits(y);
  switch (op) {
    case ScalarOp::kAbs:
      *result = x;
      return true;
    case ScalarOp::kSign:
      *result = int64_t{a != 0};
      return true;
    case ScalarOp::kDiv:
      *result = Wrap(a / b);
      return true;
    case ScalarOp::kMod:
      *result = Wrap(a % b);
      return true;
    case ScalarOp::kMax:
      *result = Wrap(std::max(a, b));
      return true;
    case ScalarOp::kMin:
      *result = Wrap(std::min(a, b));
      return true;
    case ScalarOp::kLess:
      *result = int64_t{a < b};
      return true;
    case ScalarOp::kLessEqual:
      *result = int64_t{a <= b};
      return true;
    case ScalarOp::kPow:
      *result = WholePower(a, b);
      return true;
    default:
      return false;
  }
}

int64_t DotOfBytes(int64_t x, int64_t y, int64_t sum) {
  for (int shift = 0; shift < 32; shift += 8) {
    const auto left = static_cast<uint8_t>(Bits(x) >> shift);
    const auto right = static_cast<int8_t>(Bits(y) >> shift);
    sum += left * right;
  }
  return sum;
}

float RoundToTf32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  constexpr uint32_t kExponent = 0x7f800000;
  if ((bits & kExponent) == kExponent) return value;
  return std::bit_cast<float>((bits + 0x1000U) & ~0x1fffU);
}

}  // namespace mlc::scalar
