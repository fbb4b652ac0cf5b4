#include "compiler/codegen/byte_dot.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace mlc::codegen {

namespace {

using llvm::IRBuilderBase;
using llvm::Type;
using llvm::Value;

llvm::Constant* Word(Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

// Lanes of a whole register of 128, 256 or 512 bits; 0 for any other value.
unsigned RegisterLanes(Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  const unsigned lanes = vector == nullptr ? 0 : vector->getNumElements();
  return lanes == 4 || lanes == 8 || lanes == 16 ? lanes : 0;
}

llvm::Intrinsic::ID DotOfBytes(unsigned lanes) {
  if (lanes == 4) return llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  if (lanes == 8) return llvm::Intrinsic::x86_avx512_vpdpbusd_256;
  return llvm::Intrinsic::x86_avx512_vpdpbusd_512;
}

llvm::Intrinsic::ID DotOfHalves(unsigned lanes) {
  if (lanes == 4) return llvm::Intrinsic::x86_sse2_pmadd_wd;
  if (lanes == 8) return llvm::Intrinsic::x86_avx2_pmadd_wd;
  return llvm::Intrinsic::x86_avx512_pmaddw_d_512;
}

// Bytes 0 and 2, then 1 and 3, as halves of 16 bits, whose products fit 32 bits.
Value* ByHalves(IRBuilderBase& b, unsigned lanes, Value* x, Value* y, Value* sum) {
  Type* words = x->getType();
  Type* halves = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
  llvm::Constant* low = Word(words, 0x00ff00ff);
  llvm::Constant* byte = Word(halves, 8);
  Value* y_halves = b.CreateBitCast(y, halves);
  Value* x_even = b.CreateBitCast(b.CreateAnd(x, low), halves);
  Value* x_odd = b.CreateBitCast(b.CreateAnd(b.CreateLShr(x, Word(words, 8)), low), halves);
  Value* y_even = b.CreateAShr(b.CreateShl(y_halves, byte), byte);
  Value* y_odd = b.CreateAShr(y_halves, byte);
  sum = b.CreateAdd(sum, b.CreateIntrinsic(DotOfHalves(lanes), {}, {x_even, y_even}));
  return b.CreateAdd(sum, b.CreateIntrinsic(DotOfHalves(lanes), {}, {x_odd, y_odd}));
}

Value* ByBytes(IRBuilderBase& b, Value* x, Value* y, Value* sum) {
  Type* words = x->getType();
  for (uint64_t shift = 0; shift < 32; shift += 8) {
    Value* left = b.CreateAnd(b.CreateLShr(x, Word(words, shift)), Word(words, 0xff));
    Value* right = b.CreateAShr(b.CreateShl(y, Word(words, 24 - shift)), Word(words, 24));
    sum = b.CreateAdd(sum, b.CreateMul(left, right));
  }
  return sum;
}

}  // namespace

Value* EmitByteDot(IRBuilderBase& b, const Features& features, Value* x, Value* y, Value* sum) {
  const unsigned lanes = RegisterLanes(x);
  const bool fits = lanes != 0 && static_cast<int>(lanes) * 32 <= features.vector_bits;
  if (fits && features.byte_dot) return b.CreateIntrinsic(DotOfBytes(lanes), {}, {sum, x, y});
  if (fits && features.triple.starts_with("x86_64")) return ByHalves(b, lanes, x, y, sum);
  return ByBytes(b, x, y, sum);
}

}  // namespace mlc::codegen
