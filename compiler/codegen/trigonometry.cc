#include "compiler/codegen/polynomial.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

using llvm::IRBuilderBase;
using llvm::Value;

namespace {

// x = quadrant * pi/2 + rest, |rest| <= pi/4.
struct Angle {
  Value* rest;      // of the type of x
  Value* quadrant;  // an integer as wide; its low two bits count
};

llvm::Type* LikeOf(llvm::Type* element, const Value* x) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? element
                           : llvm::FixedVectorType::get(element, vector->getNumElements());
}

// In f64 for both types: pi/2 in three parts, the first two short enough for exact products.
Angle ReduceAngle(IRBuilderBase& b, const MathContext& math, Value* x) {
  const bool wide = IsF64(x);
  Value* wide_x = wide ? x : b.CreateFPExt(x, LikeOf(b.getDoubleTy(), x));
  const Nearest n = RoundSmall(b, b.CreateFMul(wide_x, Number(wide_x, 0.63661977236758134)));
  Value* minus_n = b.CreateFNeg(n.value);
  Value* rest = EmitFma(b, math, minus_n, Number(wide_x, 0x1.921fb544p0), wide_x);
  rest = EmitFma(b, math, minus_n, Number(wide_x, 0x1.0b4611a6p-34), rest);
  rest = EmitFma(b, math, minus_n, Number(wide_x, 0x1.3198a2e037073p-69), rest);
  // Far out the reduction is meaningless; the result stays a sine or cosine.
  rest = AtMost(b, AtLeast(b, rest, -0.7854), 0.7854);
  if (wide) return {rest, n.bits};
  return {b.CreateFPTrunc(rest, x->getType()), b.CreateTrunc(n.bits, BitsType(x))};
}

Value* SinOfRest(IRBuilderBase& b, const MathContext& math, Value* r, Value* z) {
  Value* p = nullptr;
  if (IsF64(r)) {
    p = Polynomial(b, math, z,
                   {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                    1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000});
  } else {
    p = Polynomial(b, math, z,
                   {-0.16666655180724923, 0.0083321823725340358, -0.00019517023888048458});
  }
  return EmitFma(b, math, b.CreateFMul(r, z), p, r);
}

Value* CosOfRest(IRBuilderBase& b, const MathContext& math, Value* z) {
  Value* p = nullptr;
  if (IsF64(z)) {
    p = Polynomial(b, math, z,
                   {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                    -1.0 / 87178291200, 1.0 / 20922789888000});
  } else {
    p = Polynomial(b, math, z,
                   {0.041666651745282142, -0.0013887561339595746, 2.4457031835183792e-5});
  }
  Value* head = b.CreateFSub(Number(z, 1.0), b.CreateFMul(z, Number(z, 0.5)));
  return EmitFma(b, math, b.CreateFMul(z, z), p, head);
}

// sin(x + quarter_turns * pi/2).
Value* EmitTurned(IRBuilderBase& b, const MathContext& math, Value* x, uint64_t quarter_turns) {
  const Angle angle = ReduceAngle(b, math, x);
  Value* quadrant = b.CreateAdd(angle.quadrant, BitsNumber(x, quarter_turns));
  Value* z = b.CreateFMul(angle.rest, angle.rest);
  Value* odd = b.CreateICmpNE(b.CreateAnd(quadrant, BitsNumber(x, 1)), BitsNumber(x, 0));
  Value* value = b.CreateSelect(odd, CosOfRest(b, math, z), SinOfRest(b, math, angle.rest, z));
  const unsigned top = IsF64(x) ? 62 : 30;
  Value* sign = b.CreateShl(b.CreateAnd(quadrant, BitsNumber(x, 2)), BitsNumber(x, top));
  Value* bits = b.CreateXor(b.CreateBitCast(value, BitsType(x)), sign);
  return b.CreateBitCast(bits, x->getType());
}

}  // namespace

Value* EmitSin(IRBuilderBase& b, const MathContext& math, Value* x) {
  return EmitTurned(b, math, x, 0);
}

Value* EmitCos(IRBuilderBase& b, const MathContext& math, Value* x) {
  return EmitTurned(b, math, x, 1);
}

}  // namespace mlc::codegen
