// Pieces of C++: expressions with their precedence, names, constants and element types. Thread-safe
// (no state).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/types/dtype.h"

namespace mlc::codegen {

enum class Precedence : uint8_t {
  kTernary,
  kOr,
  kAnd,
  kBitAnd,
  kEqual,
  kLess,
  kShift,
  kAdd,
  kMul,
  kUnary,
  kPrimary
};

struct Text {
  std::string text;
  Precedence precedence = Precedence::kPrimary;

  // The text, in parentheses if its precedence is below `least`.
  std::string At(Precedence least) const;
  bool IsWord() const;  // a name or a number
};

// "a op b" of a left-associative operator.
Text Infix(const Text& a, std::string_view op, const Text& b, Precedence precedence);
Text Call(std::string_view function, const Text& a);
Text Call(std::string_view function, const Text& a, const Text& b);
Text CastTo(std::string_view type, const Text& a);

// The name in the kernel IR, with a letter appended if it is a word of C++ or CUDA.
std::string CxxName(std::string_view name);

// `code` with the value instead of the name; a sum in an index is folded.
std::string WithValue(std::string_view code, std::string_view name, int64_t value);

Text IntText(int64_t value, bool wide);
Text FloatText(double value, bool is_double);

// The type in memory: f16 and bf16 are unsigned short, bool and float8 unsigned char.
std::string_view StorageType(DType dtype);
// The type in computations: narrow floats are float, i64 is long long, other integers int.
std::string_view ValueType(DType dtype);

}  // namespace mlc::codegen
