// Element types of tensors, buffers and scalars. Text forms contain their names, never their
// numbers. The accumulation type of a narrow float is kF32. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace mlc {

enum class DType : uint8_t { kF32, kF64, kF16, kBF16, kI8, kU8, kI16, kI32, kI64, kBool };

// "f32", "f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64", "bool".
std::string_view ToText(DType dtype);
Result<DType> ParseDType(std::string_view text);
// Bytes of one element; kBool is one byte, 0 or 1.
int SizeOf(DType dtype);
bool IsFloat(DType dtype);

}  // namespace mlc
