#include "compiler/codegen/small_floats.h"

#include <cmath>

#include "compiler/types/small_float.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

namespace {

using llvm::IRBuilderBase;
using llvm::Type;
using llvm::Value;

constexpr int kF32Mantissa = 23;
constexpr int kF32Bias = 127;
constexpr uint64_t kInfinity = 0x7f800000;
constexpr uint64_t kNan = 0x7fc00000;

Type* LikeOf(Type* element, Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? element
                           : llvm::FixedVectorType::get(element, vector->getNumElements());
}

llvm::Constant* Bits(Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

// The code is the exponent of f32; its first one is subnormal there.
Value* ScaleToFloat(IRBuilderBase& b, Value* code, Type* i32) {
  Value* bits = b.CreateShl(code, Bits(i32, kF32Mantissa));
  bits = b.CreateSelect(b.CreateICmpEQ(code, Bits(i32, 0)), Bits(i32, 0x400000), bits);
  return b.CreateSelect(b.CreateICmpEQ(code, Bits(i32, 255)), Bits(i32, kNan), bits);
}

// Half of the mantissa's range is added, so that ties go upwards.
Value* FloatToScale(IRBuilderBase& b, Value* magnitude, Type* i32) {
  Value* rounded = b.CreateAdd(magnitude, Bits(i32, 0x400000));
  Value* code = b.CreateLShr(rounded, Bits(i32, kF32Mantissa));
  // Below 1.5 times the least power of two, which is subnormal.
  code = b.CreateSelect(b.CreateICmpULT(magnitude, Bits(i32, 0x600000)), Bits(i32, 0), code);
  return b.CreateSelect(b.CreateICmpUGE(code, Bits(i32, 255)), Bits(i32, 255), code);
}

}  // namespace

// Exponents are moved by a multiplication, which also makes subnormals normal.
Value* SmallFloatToFloat(IRBuilderBase& b, Value* codes, DType from) {
  const SmallFloat form = FormOf(from);
  Type* i32 = LikeOf(b.getInt32Ty(), codes);
  Type* f32 = LikeOf(b.getFloatTy(), codes);
  Value* code = b.CreateZExt(codes, i32);
  if (form.specials == SmallFloat::kScale) return b.CreateBitCast(ScaleToFloat(b, code, i32), f32);
  Value* magnitude = b.CreateAnd(code, Bits(i32, form.SignBit() - 1));
  Value* sign = b.CreateAnd(code, Bits(i32, form.SignBit()));
  const int sign_shift = 31 - form.exponent_bits - form.mantissa_bits;
  sign = b.CreateShl(sign, Bits(i32, static_cast<uint64_t>(sign_shift)));
  const auto shift = static_cast<uint64_t>(kF32Mantissa - form.mantissa_bits);
  Value* shifted = b.CreateBitCast(b.CreateShl(magnitude, Bits(i32, shift)), f32);
  const double scale = std::ldexp(1.0, kF32Bias - form.bias);
  Value* result = b.CreateBitCast(b.CreateFMul(shifted, llvm::ConstantFP::get(f32, scale)), i32);
  if (form.specials == SmallFloat::kMinusZeroIsNan) {
    result = b.CreateOr(result, sign);
    Value* is_nan = b.CreateICmpEQ(code, Bits(i32, form.NanCode()));
    return b.CreateBitCast(b.CreateSelect(is_nan, Bits(i32, kNan), result), f32);
  }
  if (form.specials != SmallFloat::kNone) {
    Value* special = b.CreateICmpUGT(magnitude, Bits(i32, form.LastCode()));
    Value* kind = Bits(i32, kNan);
    if (form.specials == SmallFloat::kInfinities) {
      Value* infinite = b.CreateICmpEQ(magnitude, Bits(i32, form.OverflowCode()));
      kind = b.CreateSelect(infinite, Bits(i32, kInfinity), kind);
    }
    result = b.CreateSelect(special, kind, result);
  }
  return b.CreateBitCast(b.CreateOr(result, sign), f32);
}

Value* FloatToSmallFloat(IRBuilderBase& b, Value* value, DType to) {
  const SmallFloat form = FormOf(to);
  Type* i32 = LikeOf(b.getInt32Ty(), value);
  Type* f32 = LikeOf(b.getFloatTy(), value);
  Type* i8 = LikeOf(b.getInt8Ty(), value);
  Value* bits = b.CreateBitCast(value, i32);
  Value* magnitude = b.CreateAnd(bits, Bits(i32, 0x7fffffff));
  if (form.specials == SmallFloat::kScale) {
    return b.CreateTrunc(FloatToScale(b, magnitude, i32), i8);
  }
  // Subnormal results: the addition of a number with their last place rounds there.
  const float offset = std::ldexp(1.0F, 1 - form.bias - form.mantissa_bits + kF32Mantissa);
  llvm::Constant* last_place = llvm::ConstantFP::get(f32, offset);
  Value* sum = b.CreateFAdd(b.CreateBitCast(magnitude, f32), last_place);
  Value* subnormal =
      b.CreateSub(b.CreateBitCast(sum, i32), llvm::ConstantExpr::getBitCast(last_place, i32));
  const int shift = kF32Mantissa - form.mantissa_bits;
  Value* odd =
      b.CreateAnd(b.CreateLShr(magnitude, Bits(i32, static_cast<uint64_t>(shift))), Bits(i32, 1));
  const uint32_t rebias = static_cast<uint32_t>(kF32Bias - form.bias) << kF32Mantissa;
  const uint32_t half = (1U << (shift - 1)) - 1;
  Value* rounded = b.CreateAdd(b.CreateAdd(magnitude, Bits(i32, half - rebias)), odd);
  Value* normal = b.CreateLShr(rounded, Bits(i32, static_cast<uint64_t>(shift)));
  const auto least = static_cast<uint64_t>(kF32Bias + 1 - form.bias) << kF32Mantissa;
  Value* code = b.CreateSelect(b.CreateICmpULT(magnitude, Bits(i32, least)), subnormal, normal);
  Value* overflows = b.CreateICmpUGT(code, Bits(i32, form.LastCode()));
  code = b.CreateSelect(overflows, Bits(i32, form.OverflowCode()), code);
  Value* sign =
      b.CreateLShr(b.CreateAnd(bits, Bits(i32, 0x80000000U)),
                   Bits(i32, static_cast<uint64_t>(31 - form.exponent_bits - form.mantissa_bits)));
  // As in small_float.cc, NaN has no sign, nor has zero where its code is the NaN.
  if (form.OverflowCode() == form.NanCode()) {
    Value* no_sign = overflows;
    if (form.specials == SmallFloat::kMinusZeroIsNan) {
      no_sign = b.CreateOr(no_sign, b.CreateICmpEQ(code, Bits(i32, 0)));
    }
    sign = b.CreateSelect(no_sign, Bits(i32, 0), sign);
  }
  Value* result = b.CreateOr(code, sign);
  Value* is_nan = b.CreateICmpUGT(magnitude, Bits(i32, kInfinity));
  return b.CreateTrunc(b.CreateSelect(is_nan, Bits(i32, form.NanCode()), result), i8);
}

}  // namespace mlc::codegen
