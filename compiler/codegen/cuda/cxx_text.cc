#include "compiler/codegen/cuda/cxx_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace mlc::codegen {

namespace {

// Words of C++ and of CUDA that generated code must not redefine; lower case only, in order.
constexpr std::array<std::string_view, 125> kTakenNames = {
    "abs",       "alignas",       "alignof",      "and",
    "and_eq",    "asm",           "auto",         "bitand",
    "bitor",     "bool",          "break",        "case",
    "catch",     "ceil",          "ceilf",        "char",
    "class",     "compl",         "const",        "const_cast",
    "constexpr", "continue",      "cos",          "cosf",
    "decltype",  "default",       "delete",       "do",
    "double",    "double2",       "dynamic_cast", "else",
    "enum",      "erf",           "erff",         "exp",
    "expf",      "explicit",      "export",       "extern",
    "fabs",      "fabsf",         "false",        "float",
    "float2",    "float4",        "floor",        "floorf",
    "fma",       "fmaf",          "fmod",         "fmodf",
    "for",       "friend",        "goto",         "if",
    "inline",    "int",           "int2",         "int4",
    "isnan",     "linux",         "log",          "logf",
    "long",      "longlong2",     "main",         "mutable",
    "namespace", "new",           "noexcept",     "not",
    "not_eq",    "nullptr",       "operator",     "or",
    "or_eq",     "pow",           "powf",         "private",
    "protected", "public",        "register",     "reinterpret_cast",
    "return",    "rint",          "rintf",        "rsqrt",
    "rsqrtf",    "short",         "signed",       "sin",
    "sinf",      "sizeof",        "sqrt",         "sqrtf",
    "static",    "static_assert", "static_cast",  "struct",
    "switch",    "tanh",          "tanhf",        "template",
    "this",      "thread_local",  "throw",        "true",
    "try",       "typedef",       "typeid",       "typename",
    "uint2",     "uint4",         "union",        "unix",
    "unsigned",  "using",         "virtual",      "void",
    "volatile",  "wchar_t",       "while",        "xor",
    "xor_eq",
};

}  // namespace

std::string Text::At(Precedence least) const {
  return precedence >= least ? text : "(" + text + ")";
}

bool Text::IsWord() const {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

std::string WithValue(std::string_view code, std::string_view name, int64_t value) {
  const auto in_word = [&](size_t at) {
    return at < code.size() &&
           (std::isalnum(static_cast<unsigned char>(code[at])) != 0 || code[at] == '_');
  };
  std::string text;
  for (size_t at = 0; at < code.size();) {
    const bool found = code.substr(at, name.size()) == name && !in_word(at + name.size()) &&
                       (at == 0 || !in_word(at - 1));
    if (!found) {
      text += code[at++];
      continue;
    }
    at += name.size();
    // "[8 + " in front, "]" behind.
    const size_t index = text.rfind('[') + 1;
    int64_t first = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + index, end, first);
    const bool whole = index > 0 && error == std::errc() && std::string_view(rest) == " + ";
    const bool ends = at < code.size() && code[at] == ']';
    if (whole && ends) {
      text.resize(index);
      text += std::to_string(first + value);
    } else if (value == 0 && ends && text.ends_with(" + ")) {
      text.resize(text.size() - 3);
    } else {
      text += std::to_string(value);
    }
  }
  return text;
}

Text Infix(const Text& a, std::string_view op, const Text& b, Precedence precedence) {
  const auto tighter = static_cast<Precedence>(static_cast<int>(precedence) + 1);
  std::string text = a.At(precedence);
  text.append(" ").append(op).append(" ").append(b.At(tighter));
  return {std::move(text), precedence};
}

Text Call(std::string_view function, const Text& a) {
  return {std::string(function) + "(" + a.text + ")"};
}

Text Call(std::string_view function, const Text& a, const Text& b) {
  return {std::string(function) + "(" + a.text + ", " + b.text + ")"};
}

Text CastTo(std::string_view type, const Text& a) {
  return {"(" + std::string(type) + ")" + a.At(Precedence::kUnary), Precedence::kUnary};
}

std::string CxxName(std::string_view name) {
  const bool taken = std::find(kTakenNames.begin(), kTakenNames.end(), name) != kTakenNames.end();
  // A leading underscore is left to the compiler's own names.
  if (name.starts_with('_')) return "N" + std::string(name);
  return taken ? std::string(name) + "N" : std::string(name);
}

Text IntText(int64_t value, bool wide) {
  if (value == std::numeric_limits<int64_t>::min()) return {"(-9223372036854775807ll - 1)"};
  if (value == std::numeric_limits<int32_t>::min() && !wide) return {"(-2147483647 - 1)"};
  std::string text = std::to_string(value);
  if (wide) text += "ll";
  return {std::move(text), value < 0 ? Precedence::kUnary : Precedence::kPrimary};
}

Text FloatText(double value, bool is_double) {
  if (!std::isfinite(value)) {
    const bool negative = std::signbit(value);
    if (is_double) {
      const char* bits = std::isnan(value) ? "0x7ff8000000000000ll"
                         : negative        ? "0xfff0000000000000ll"
                                           : "0x7ff0000000000000ll";
      return Call("__longlong_as_double", Text{bits});
    }
    const char* bits = std::isnan(value) ? "0x7fc00000" : negative ? "0xff800000" : "0x7f800000";
    return Call("__int_as_float", Text{bits});
  }
  char buffer[32];
  const auto result =
      is_double ? std::to_chars(buffer, buffer + sizeof(buffer), value)
                : std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value));
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (!is_double) text += 'f';
  return {std::move(text), std::signbit(value) ? Precedence::kUnary : Precedence::kPrimary};
}

std::string_view StorageType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
      return "unsigned short";
    case DType::kI8:
      return "signed char";
    case DType::kU8:
    case DType::kBool:
    case DType::kF8E4M3Fn:
    case DType::kF8E5M2:
      return "unsigned char";
    case DType::kI16:
      return "short";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long long";
    default:
      return "";  // PrintCuda has refused it
  }
}

std::string_view ValueType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3Fn:
    case DType::kF8E5M2:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI64:
      return "long long";
    case DType::kBool:
      return "bool";
    default:
      return "int";
  }
}

}  // namespace mlc::codegen
