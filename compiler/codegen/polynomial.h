// Building blocks of the elementary functions. Sources include it together with LLVM's headers. Not
// thread-safe beyond the builder.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "compiler/codegen/vector_math.h"

namespace llvm {
class Constant;
class Type;
}  // namespace llvm

namespace mlc::codegen {

bool IsF64(const llvm::Value* x);
// A float constant of x's type; the same on every lane.
llvm::Constant* Number(const llvm::Value* x, double value);
// The integer type of x's element width and lanes, and a constant of it.
llvm::Type* BitsType(const llvm::Value* x);
llvm::Constant* BitsNumber(const llvm::Value* x, uint64_t value);
// c0 + z * (c1 + z * (c2 + ...)).
llvm::Value* Polynomial(llvm::IRBuilderBase& b, const MathContext& math, llvm::Value* z,
                        std::initializer_list<double> coefficients);
// The larger (smaller) of x and a constant; NaN stays NaN.
llvm::Value* AtLeast(llvm::IRBuilderBase& b, llvm::Value* x, double bound);
llvm::Value* AtMost(llvm::IRBuilderBase& b, llvm::Value* x, double bound);
llvm::Value* Absolute(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* WithSignOf(llvm::IRBuilderBase& b, llvm::Value* magnitude, llvm::Value* sign);

// x rounded to an integer, as a float and as bits. REQUIRES: |x| < 2^21 (f32), 2^50 (f64).
struct Nearest {
  llvm::Value* value;
  llvm::Value* bits;
};
Nearest RoundSmall(llvm::IRBuilderBase& b, llvm::Value* x);

}  // namespace mlc::codegen
