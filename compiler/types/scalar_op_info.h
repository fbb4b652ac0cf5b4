// A row of the table of scalar operators (scalar_op.h). Literal values.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace mlc {

enum class ScalarOp : uint8_t;

// Element types of the operands in kernel IR.
enum class OperandTypes : uint8_t {
  kFloats,
  kNumbers,  // floats and integers
  kWords,    // i32
  kBits,     // bool and integers
  kBool,
  kAny,
};

// A function of one to three operands of one type; the other pointers are null. All are null where
// an operator has no meaning for the type.
template <typename T>
struct ScalarFunction {
  T (*one)(T) = nullptr;
  T (*two)(T, T) = nullptr;
  T (*three)(T, T, T) = nullptr;
  int arity = 0;  // kept: with sanitizers, GCC compares no address of a function in constants

  constexpr ScalarFunction() = default;
  template <typename F>
  constexpr ScalarFunction(F f) {
    if constexpr (std::is_invocable_v<F, T>) {
      one = f;
      arity = 1;
    } else if constexpr (std::is_invocable_v<F, T, T>) {
      two = f;
      arity = 2;
    } else {
      three = f;
      arity = 3;
    }
  }
};

// The result on floats, in double and, for tests, in a wider type. Made of one generic function.
struct RealFunction {
  ScalarFunction<double> exact;
  ScalarFunction<long double> wide;

  constexpr RealFunction() = default;
  template <typename F>
  constexpr RealFunction(F f) : exact(f), wide(f) {}
};

// The spelling in CUDA C++ where it is a call. A name in lower case is a function of the language,
// whose form for float has an f at its end; one in upper case is a device function.
struct CudaSpelling {
  std::string_view function;
  std::string_view approximate = {};  // device function for kernels that are `approximate`
};

// Largest errors of generated code for operands in [low, high], which a test sweeps; relative, or
// absolute where `absolute`.
struct ErrorBound {
  double low = 0;
  double high = 0;
  double f32 = 0;
  double f64 = 0;
  bool absolute = false;
};

// Traits of ScalarOpInfo, combined by addition.
inline constexpr unsigned kCommutes = 1;
inline constexpr unsigned kGivesBool = 2;
inline constexpr unsigned kExact = 4;
inline constexpr unsigned kKeepsNarrow = 8;
inline constexpr unsigned kPositiveFirst = 16;
inline constexpr unsigned kPositiveSecond = 32;

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;  // the spelling of every text form
  int arity;
  OperandTypes operands;
  bool commutes;
  bool gives_bool;
  bool exact;            // rounded correctly on floats, by every code generator: bits are equal
  bool keeps_narrow;     // of f16 and bf16 it gives a number of the same type without rounding
  int positive_operand;  // inputs of trials keep this one positive; -1: none
  double flops;          // arithmetic cost of one element in fused-multiply-add units times two
  CudaSpelling cuda;     // empty where the operator is an infix or prefix one
  RealFunction real;     // floats; a bool is 0 or 1
  ScalarFunction<int64_t> integer;  // integers and bool, before they wrap to their type
  ErrorBound error;                 // functions of one operand that are not exact

  constexpr ScalarOpInfo(ScalarOp o, std::string_view text, OperandTypes types, unsigned traits,
                         double cost, CudaSpelling spelling, RealFunction on_floats,
                         ScalarFunction<int64_t> on_integers, ErrorBound bound = {})
      : op(o),
        name(text),
        arity(on_floats.exact.arity != 0 ? on_floats.exact.arity : on_integers.arity),
        operands(types),
        commutes((traits & kCommutes) != 0),
        gives_bool((traits & kGivesBool) != 0),
        exact((traits & kExact) != 0),
        keeps_narrow((traits & kKeepsNarrow) != 0),
        positive_operand((traits & kPositiveFirst) != 0    ? 0
                         : (traits & kPositiveSecond) != 0 ? 1
                                                           : -1),
        flops(cost),
        cuda(spelling),
        real(on_floats),
        integer(on_integers),
        error(bound) {}
};

}  // namespace mlc
