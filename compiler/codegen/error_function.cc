#include "compiler/codegen/polynomial.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

using llvm::IRBuilderBase;
using llvm::Value;

namespace {

// erf(x) / x as a series in z = x^2. REQUIRES: z <= 1.
Value* NearZero(IRBuilderBase& b, const MathContext& math, Value* z) {
  if (!IsF64(z)) {
    return Polynomial(
        b, math, z,
        {1.1283791657267974, -0.37612625824675099, 0.11283585151233505, -0.026853811990321786,
         0.005188327729379839, -0.00080101936585096736, 7.8538606315780047e-5});
  }
  // Taylor: 2 / sqrt(pi) * (-1)^k / (k! (2k + 1)).
  Value* series = Polynomial(b, math, z,
                             {1.0,
                              -1.0 / 3,
                              1.0 / 10,
                              -1.0 / 42,
                              1.0 / 216,
                              -1.0 / 1320,
                              1.0 / 9360,
                              -1.0 / 75600,
                              1.0 / 685440,
                              -1.0 / 6894720,
                              1.0 / 76204800,
                              -1.0 / 918086400,
                              1.0 / 11975040000.0,
                              -1.0 / 168129561600.0,
                              1.0 / 2528170444800.0,
                              -1.0 / 40537905408000.0,
                              1.0 / 690452066304000.0,
                              -1.0 / 12449059983360000.0,
                              1.0 / 236887827111936000.0,
                              -1.0 / 4744158915944448000.0});
  return b.CreateFMul(series, Number(z, 1.1283791670955126));
}

// erfc(t) for t between 1 and the bound from which erf rounds to 1.
Value* Tail(IRBuilderBase& b, const MathContext& math, Value* t) {
  if (!IsF64(t)) {
    return EmitExp(b, math,
                   Polynomial(b, math, t,
                              {-0.00033269617893644325, -1.1271224692811036, -0.63809361789086667,
                               -0.10314792002863466, 0.021856286433316807, -0.0029518698565310927,
                               0.00018677621862147438}));
  }
  // erfc(t) exp(t^2) is smooth in (t - 2.5) / (t + 2.5).
  Value* center = Number(t, 2.5);
  Value* u = b.CreateFDiv(b.CreateFSub(t, center), b.CreateFAdd(t, center));
  Value* p = Polynomial(
      b, math, u,
      {0.21080636406114358, -0.37173673394897335, 0.25171319321744925, -0.12503305237882892,
       0.039922539075593158, -0.0039937011658917955, -0.0026423659647903709, 0.00087591545141745734,
       0.00022838039342574363, -0.00012887719727393717, -3.4182478660749602e-5,
       1.861475398889985e-5, 7.5549389208539717e-6, -2.3000338825778091e-6, -1.8153439018471803e-6,
       8.4340257175521353e-8, 3.8517951309726301e-7, 6.0288578560036765e-8,
       -5.2554387270761212e-8});
  Value* decay = EmitExp(b, math, b.CreateFNeg(b.CreateFMul(t, t)));
  return b.CreateFMul(decay, p);
}

}  // namespace

Value* EmitErf(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* t = AtMost(b, Absolute(b, x), IsF64(x) ? 6.0 : 4.0);
  Value* near = b.CreateFMul(x, NearZero(b, math, b.CreateFMul(x, x)));
  Value* far = b.CreateFSub(Number(x, 1.0), Tail(b, math, t));
  return b.CreateSelect(b.CreateFCmpOLT(t, Number(x, 1.0)), near, WithSignOf(b, far, x));
}

}  // namespace mlc::codegen
