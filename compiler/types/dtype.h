// Element types of tensors, buffers and scalars. Text forms contain their names, never their
// numbers. The accumulation type of a narrow float is kF32. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace mlc {

// The numbers are those of mlc_dtype in libraries.
enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI16,
  kI32,
  kI64,
  kBool,
  kU16,
  kU32,
  kU64,
  // The rest are small: they are moved and converted, and no arithmetic is done in them but
  // products of float8 values (IsFloat8).
  kI4,
  kU4,
  kI2,
  kU2,
  kF8E4M3Fn,
  kF8E4M3Fnuz,
  kF8E5M2,
  kF8E5M2Fnuz,
  kF8E8M0,
  kF4E2M1,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::kF4E2M1) + 1;

// "f32", "f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64", "bool", "u16", "u32", "u64", "i4",
// "u4", "i2", "u2", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1".
std::string_view ToText(DType dtype);
Result<DType> ParseDType(std::string_view text);
// Bytes of one element. kBool is one byte, 0 or 1. An element of 2 or 4 bits has a byte of its own:
// an integer is sign-extended or zero-extended, a float's code is in the low bits.
int SizeOf(DType dtype);
// Bits that tell the values of the type apart: 8 * SizeOf, but 2 or 4 for the types named so.
int BitsOf(DType dtype);
bool IsFloat(DType dtype);
// Whether it is an integer that has no negative values; kBool is no integer.
bool IsUnsigned(DType dtype);
// Integers of 2 and 4 bits, and floats of 4 and 8 bits.
bool IsSmall(DType dtype);
// f8e4m3fn and f8e5m2: the floats of 8 bits that GPUs compute with.
bool IsFloat8(DType dtype);

}  // namespace mlc
