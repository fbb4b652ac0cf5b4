#include "compiler/codegen/convert.h"

#include "base/check.h"
#include "compiler/codegen/small_floats.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

namespace {

using llvm::IRBuilderBase;
using llvm::Type;
using llvm::Value;

Type* LikeOf(Type* element, Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? element
                           : llvm::FixedVectorType::get(element, vector->getNumElements());
}

llvm::Constant* Bits(Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

Value* BFloatToFloat(IRBuilderBase& b, Value* bits) {
  Type* i32 = LikeOf(b.getInt32Ty(), bits);
  Value* wide = b.CreateShl(b.CreateZExt(bits, i32), Bits(i32, 16));
  return b.CreateBitCast(wide, LikeOf(b.getFloatTy(), bits));
}

Value* FloatToBFloat(IRBuilderBase& b, Value* value) {
  Type* i32 = LikeOf(b.getInt32Ty(), value);
  Value* bits = b.CreateBitCast(value, i32);
  Value* odd = b.CreateAnd(b.CreateLShr(bits, Bits(i32, 16)), Bits(i32, 1));
  Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, Bits(i32, 0x7fff)));
  Value* quiet = b.CreateOr(bits, Bits(i32, 0x400000));
  Value* chosen = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(chosen, Bits(i32, 16)), LikeOf(b.getInt16Ty(), value));
}

// Exponents are moved by a multiplication, which also makes subnormals normal.
Value* HalfBitsToFloat(IRBuilderBase& b, Value* half) {
  Type* i32 = LikeOf(b.getInt32Ty(), half);
  Type* f32 = LikeOf(b.getFloatTy(), half);
  Value* bits = b.CreateZExt(half, i32);
  Value* sign = b.CreateShl(b.CreateAnd(bits, Bits(i32, 0x8000)), Bits(i32, 16));
  Value* magnitude = b.CreateShl(b.CreateAnd(bits, Bits(i32, 0x7fff)), Bits(i32, 13));
  Value* scaled =
      b.CreateFMul(b.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0x1p112));
  Value* special = b.CreateICmpUGE(magnitude, Bits(i32, 0x7c00u << 13));
  Value* finite = b.CreateBitCast(scaled, i32);
  Value* result = b.CreateSelect(special, b.CreateOr(magnitude, Bits(i32, 0x7f800000)), finite);
  return b.CreateBitCast(b.CreateOr(result, sign), f32);
}

Value* FloatToHalfBits(IRBuilderBase& b, Value* value) {
  Type* i32 = LikeOf(b.getInt32Ty(), value);
  Type* f32 = LikeOf(b.getFloatTy(), value);
  Value* bits = b.CreateBitCast(value, i32);
  Value* sign = b.CreateLShr(b.CreateAnd(bits, Bits(i32, 0x80000000u)), Bits(i32, 16));
  Value* magnitude = b.CreateAnd(bits, Bits(i32, 0x7fffffff));
  // Results below 2^-14 are subnormal: adding 0.5 lets the addition round at their last place.
  Value* shifted = b.CreateFAdd(b.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0.5));
  Value* subnormal = b.CreateSub(b.CreateBitCast(shifted, i32), Bits(i32, 0x3f000000));
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, Bits(i32, 13)), Bits(i32, 1));
  const uint64_t rebias = 0x100000000u - (112u << 23) + 0xfff;
  Value* rounded = b.CreateAdd(b.CreateAdd(magnitude, Bits(i32, rebias & 0xffffffffu)), odd);
  Value* normal = b.CreateLShr(rounded, Bits(i32, 13));
  Value* result =
      b.CreateSelect(b.CreateICmpULT(magnitude, Bits(i32, 113u << 23)), subnormal, normal);
  Value* overflows = b.CreateICmpUGE(magnitude, Bits(i32, 0x477ff000));
  result = b.CreateSelect(overflows, Bits(i32, 0x7c00), result);
  Value* is_nan = b.CreateICmpUGT(magnitude, Bits(i32, 0x7f800000));
  result = b.CreateSelect(is_nan, Bits(i32, 0x7e00), result);
  return b.CreateTrunc(b.CreateOr(result, sign), LikeOf(b.getInt16Ty(), value));
}

// Any float type to f32 or f64.
Value* ToWideFloat(IRBuilderBase& b, const Features& features, Value* value, DType from) {
  if (from == DType::kBF16) return BFloatToFloat(b, value);
  if (IsSmall(from)) return SmallFloatToFloat(b, value, from);
  if (from != DType::kF16) return value;
  if (!features.half) return HalfBitsToFloat(b, value);
  Value* half = b.CreateBitCast(value, LikeOf(b.getHalfTy(), value));
  return b.CreateFPExt(half, LikeOf(b.getFloatTy(), value));
}

Value* FromFloat(IRBuilderBase& b, const Features& features, Value* value, DType to) {
  if (to == DType::kF64) return b.CreateFPExt(value, LikeOf(b.getDoubleTy(), value));
  if (to == DType::kBF16) return FloatToBFloat(b, value);
  if (IsSmall(to)) return FloatToSmallFloat(b, value, to);
  if (to != DType::kF16) return value;
  if (!features.half) return FloatToHalfBits(b, value);
  Value* half = b.CreateFPTrunc(value, LikeOf(b.getHalfTy(), value));
  return b.CreateBitCast(half, LikeOf(b.getInt16Ty(), value));
}

// Bounded as floats, which the bounds of these types are: whole vectors stay in their registers.
Value* Narrowed(IRBuilderBase& b, Value* value, DType to, Type* type) {
  const int bits = BitsOf(to) - (IsSigned(to) ? 1 : 0);
  const double most = static_cast<double>((int64_t{1} << bits) - 1);
  llvm::Constant* high = llvm::ConstantFP::get(value->getType(), most);
  llvm::Constant* low = llvm::ConstantFP::get(value->getType(), IsSigned(to) ? -most - 1 : 0.0);
  if (IsSigned(to)) {
    Value* number = b.CreateFCmpORD(value, value);
    value = b.CreateSelect(number, value, llvm::Constant::getNullValue(value->getType()));
  }
  value = b.CreateSelect(b.CreateFCmpOGT(value, low), value, low);  // 0 of no number
  value = b.CreateSelect(b.CreateFCmpOLT(value, high), value, high);
  Type* words = LikeOf(b.getInt32Ty(), value);
  return b.CreateTrunc(b.CreateFPToSI(value, words), type);
}

Value* FloatToInt(IRBuilderBase& b, Value* value, DType to) {
  if (to == DType::kBool) {
    return b.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0.0));
  }
  Type* type = LikeOf(RegisterType(b.getContext(), to, 1), value);
  if (IsSmall(to) || (SizeOf(to) < 4 && value->getType()->isVectorTy()))
    return Narrowed(b, value, to, type);
  const auto id = IsSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(id, {type, value->getType()}, {value});
}

Value* IntToInt(IRBuilderBase& b, Value* value, DType from, DType to) {
  if (to == DType::kBool) {
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  Type* type = LikeOf(RegisterType(b.getContext(), to, 1), value);
  Value* cast = b.CreateIntCast(value, type, IsSigned(from));
  if (!IsSmall(to)) return cast;
  // The low bits, extended over the byte that holds them.
  const uint64_t unused = static_cast<uint64_t>(8 - BitsOf(to));
  Value* high = b.CreateShl(cast, Bits(type, unused));
  return IsSigned(to) ? b.CreateAShr(high, Bits(type, unused))
                      : b.CreateLShr(high, Bits(type, unused));
}

}  // namespace

bool IsSigned(DType dtype) { return !IsUnsigned(dtype) && dtype != DType::kBool; }

Type* RegisterType(llvm::LLVMContext& context, DType dtype, int lanes) {
  Type* element = nullptr;
  switch (dtype) {
    case DType::kF32:
      element = Type::getFloatTy(context);
      break;
    case DType::kF64:
      element = Type::getDoubleTy(context);
      break;
    case DType::kBool:
      element = Type::getInt1Ty(context);
      break;
    default:
      element = Type::getIntNTy(context, static_cast<unsigned>(8 * SizeOf(dtype)));
  }
  if (lanes == 1) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

Type* MemoryType(llvm::LLVMContext& context, DType dtype, int lanes) {
  return RegisterType(context, dtype == DType::kBool ? DType::kU8 : dtype, lanes);
}

Value* Convert(IRBuilderBase& b, const Features& features, Value* value, DType from, DType to) {
  if (from == to) return value;
  if (!IsFloat(from) && !IsFloat(to)) return IntToInt(b, value, from, to);
  if (!IsFloat(from)) {
    Type* type = LikeOf(to == DType::kF64 ? b.getDoubleTy() : b.getFloatTy(), value);
    Value* wide = IsSigned(from) ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
    return to == DType::kF64 ? wide : FromFloat(b, features, wide, to);
  }
  Value* wide = ToWideFloat(b, features, value, from);
  if (!IsFloat(to)) return FloatToInt(b, wide, to);
  if (from == DType::kF64) wide = b.CreateFPTrunc(wide, LikeOf(b.getFloatTy(), wide));
  return FromFloat(b, features, wide, to);
}

}  // namespace mlc::codegen
