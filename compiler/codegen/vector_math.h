// Elementary functions as straight-line LLVM IR on f32 or f64 scalars and vectors: no calls, no
// tables, no branches, the same bits on every lane. Largest relative errors, checked by dense
// sweeps in tests/unit/codegen/vector_math_test.cc against the C library in higher precision:
//
//            f32          f64       range
//   exp      2e-7         4e-16     all; overflow gives inf, underflow goes to 0 by subnormals
//   exp2     2e-7         4e-16     all; as exp
//   log      2e-7         8e-16     all; log(0) = -inf, log(negative) = NaN
//   tanh     4e-7         2e-15     all
//   sigmoid  4e-7         2e-15     all
//   erf      4e-7         2e-15     all
//   sin cos  3e-7 (abs)   5e-16     |x| <= 2^20; farther out within [-1, 1] without accuracy
//   pow      4e-7         1e-13     all; IEEE special cases
// Subnormal results keep an absolute error of a few units of the smallest subnormal. Without a
// fused multiply-add the errors grow by half. Not thread-safe beyond the builder.
#pragma once

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace mlc::codegen {

struct MathContext {
  bool fma = false;       // the target fuses a*b+c
  bool rounding = false;  // the target rounds to integers in one instruction
  bool scaling = false;   // vectors of 512 bits are scaled by powers of two in one instruction
};

using MathFunction = llvm::Value*(llvm::IRBuilderBase& b, const MathContext& math, llvm::Value* x);

MathFunction EmitExp;
MathFunction EmitExp2;
MathFunction EmitLog;
MathFunction EmitTanh;
MathFunction EmitSigmoid;
MathFunction EmitErf;
MathFunction EmitSin;
MathFunction EmitCos;
MathFunction EmitFloor;
MathFunction EmitCeil;
MathFunction EmitTrunc;
MathFunction EmitRound;  // to nearest, ties to even
llvm::Value* EmitPow(llvm::IRBuilderBase& b, const MathContext& math, llvm::Value* x,
                     llvm::Value* y);
// a * b + c, rounded once where the target can.
llvm::Value* EmitFma(llvm::IRBuilderBase& b, const MathContext& math, llvm::Value* a,
                     llvm::Value* m, llvm::Value* c);

}  // namespace mlc::codegen
