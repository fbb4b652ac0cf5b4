#include <cstdint>

#include "compiler/codegen/polynomial.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

using llvm::IRBuilderBase;
using llvm::Value;

bool IsF64(const Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }

llvm::Constant* Number(const Value* x, double value) {
  return llvm::ConstantFP::get(x->getType(), value);
}

llvm::Type* BitsType(const Value* x) {
  llvm::Type* element = llvm::Type::getIntNTy(x->getContext(), IsF64(x) ? 64 : 32);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? element
                           : llvm::FixedVectorType::get(element, vector->getNumElements());
}

llvm::Constant* BitsNumber(const Value* x, uint64_t value) {
  return llvm::ConstantInt::get(BitsType(x), value);
}

Value* EmitFma(IRBuilderBase& b, const MathContext& math, Value* a, Value* m, Value* c) {
  if (!math.fma) return b.CreateFAdd(b.CreateFMul(a, m), c);
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, m, c});
}

Value* Polynomial(IRBuilderBase& b, const MathContext& math, Value* z,
                  std::initializer_list<double> coefficients) {
  const double* c = coefficients.end() - 1;
  Value* sum = Number(z, *c);
  while (c != coefficients.begin()) sum = EmitFma(b, math, sum, z, Number(z, *--c));
  return sum;
}

Value* AtLeast(IRBuilderBase& b, Value* x, double bound) {
  Value* limit = Number(x, bound);
  return b.CreateSelect(b.CreateFCmpOGT(limit, x), limit, x);
}

Value* AtMost(IRBuilderBase& b, Value* x, double bound) {
  Value* limit = Number(x, bound);
  return b.CreateSelect(b.CreateFCmpOLT(limit, x), limit, x);
}

Value* Absolute(IRBuilderBase& b, Value* x) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
}

Value* WithSignOf(IRBuilderBase& b, Value* magnitude, Value* sign) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

// Adding 1.5 * 2^mantissa leaves no bits for a fraction: the sum's low bits are the integer.
Nearest RoundSmall(IRBuilderBase& b, Value* x) {
  Value* magic = Number(x, IsF64(x) ? 0x1.8p52 : 0x1.8p23);
  Value* sum = b.CreateFAdd(x, magic);
  Value* bits = b.CreateSub(b.CreateBitCast(sum, BitsType(x)), b.CreateBitCast(magic, BitsType(x)));
  return {b.CreateFSub(sum, magic), bits};
}

Value* EmitRound(IRBuilderBase& b, const MathContext& math, Value* x) {
  if (math.rounding) return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
  // From 2^mantissa on every float is an integer already.
  Value* whole = Number(x, IsF64(x) ? 0x1p52 : 0x1p23);
  Value* magnitude = Absolute(b, x);
  Value* rounded = b.CreateFSub(b.CreateFAdd(magnitude, whole), whole);
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, whole), WithSignOf(b, rounded, x), x);
}

Value* EmitFloor(IRBuilderBase& b, const MathContext& math, Value* x) {
  if (math.rounding) return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  Value* rounded = EmitRound(b, math, x);
  Value* below = b.CreateFSub(rounded, Number(x, 1.0));
  return b.CreateSelect(b.CreateFCmpOGT(rounded, x), below, rounded);
}

Value* EmitCeil(IRBuilderBase& b, const MathContext& math, Value* x) {
  if (math.rounding) return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
  Value* rounded = EmitRound(b, math, x);
  Value* above = b.CreateFAdd(rounded, Number(x, 1.0));
  return b.CreateSelect(b.CreateFCmpOLT(rounded, x), WithSignOf(b, above, x), rounded);
}

Value* EmitTrunc(IRBuilderBase& b, const MathContext& math, Value* x) {
  if (math.rounding) return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  return WithSignOf(b, EmitFloor(b, math, Absolute(b, x)), x);
}

}  // namespace mlc::codegen
