#include "compiler/codegen/scalar_ops.h"

#include "base/check.h"
#include "compiler/codegen/byte_dot.h"
#include "compiler/codegen/vector_math.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

namespace {

using llvm::IRBuilderBase;
using llvm::Type;
using llvm::Value;
using Args = std::vector<Value*>;

Value* FloatMax(IRBuilderBase& b, ScalarOp op, Args args) {
  if (llvm::isa<llvm::Constant>(args[1])) std::swap(args[0], args[1]);
  Value* first =
      op == ScalarOp::kMax ? b.CreateFCmpOGT(args[0], args[1]) : b.CreateFCmpOLT(args[0], args[1]);
  return b.CreateSelect(first, args[0], args[1]);
}

// a - quotient * divisor. Exact for f32: fused, or in f64, which holds the product.
Value* RestOf(IRBuilderBase& b, const MathContext& math, Value* a, Value* quotient,
              Value* divisor) {
  Value* minus = b.CreateFNeg(quotient);
  if (math.fma || a->getType()->getScalarType()->isDoubleTy()) {
    return EmitFma(b, math, minus, divisor, a);
  }
  Type* wide = b.getDoubleTy();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType())) {
    wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
  }
  Value* product = b.CreateFMul(b.CreateFPExt(minus, wide), b.CreateFPExt(divisor, wide));
  return b.CreateFPTrunc(b.CreateFAdd(product, b.CreateFPExt(a, wide)), a->getType());
}

// The remainder with the sign of the dividend, as C's fmod for quotients below 2^24 (f32).
Value* FloatMod(IRBuilderBase& b, const MathContext& math, const Args& args) {
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, args[1]);
  Value* quotient = EmitTrunc(b, math, b.CreateFDiv(args[0], args[1]));
  Value* rest = RestOf(b, math, args[0], quotient, args[1]);
  // A quotient rounded up to an integer leaves a rest of the wrong sign: one divisor back.
  Value* wrong =
      b.CreateFCmpOLT(b.CreateFMul(rest, args[0]), llvm::ConstantFP::get(rest->getType(), 0.0));
  Value* divisor = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, args[0]);
  rest = b.CreateSelect(wrong, b.CreateFAdd(rest, divisor), rest);
  // A finite number fits an infinite divisor no time.
  Value* infinite = b.CreateFCmpOEQ(magnitude, llvm::ConstantFP::getInfinity(rest->getType()));
  Value* finite = b.CreateFCmpONE(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, args[0]),
                                  llvm::ConstantFP::getInfinity(rest->getType()));
  return b.CreateSelect(b.CreateAnd(infinite, finite), args[0], rest);
}

Value* FloatSign(IRBuilderBase& b, Value* x) {
  Type* type = x->getType();
  Value* zero = llvm::ConstantFP::get(type, 0.0);
  Value* one = llvm::ConstantFP::get(type, 1.0);
  Value* minus = llvm::ConstantFP::get(type, -1.0);
  return b.CreateSelect(b.CreateFCmpOGT(x, zero), one,
                        b.CreateSelect(b.CreateFCmpOLT(x, zero), minus, x));
}

// log(u) for u = 1 + x, corrected by what the sum lost: u - 1 is exact, and x over it is near one.
Value* LogOfOneMore(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
  Value* sum = b.CreateFAdd(x, one);
  Value* kept = b.CreateFSub(sum, one);
  Value* log = b.CreateFMul(EmitLog(b, math, sum), b.CreateFDiv(x, kept));
  // Where nothing of x is in the sum, and where both are infinite.
  Value* lost = b.CreateFCmpOEQ(sum, one);
  Value* infinite = b.CreateFCmpOEQ(x, llvm::ConstantFP::getInfinity(x->getType()));
  return b.CreateSelect(b.CreateOr(lost, infinite), x, log);
}

// Half a unit of the last kept bit is added and the rest cut off; infinities and NaN stay.
Value* RoundTf32(IRBuilderBase& b, Value* x) {
  Type* type = x->getType();
  const bool is_vector = type->isVectorTy();
  const auto like = [&](Type* scalar) -> Type* {
    if (!is_vector) return scalar;
    return llvm::VectorType::get(scalar, llvm::cast<llvm::VectorType>(type)->getElementCount());
  };
  Type* floats = like(b.getFloatTy());
  Type* words = like(b.getInt32Ty());
  Value* narrow = type == floats ? x : b.CreateFPTrunc(x, floats);
  Value* bits = b.CreateBitCast(narrow, words);
  Value* sum = b.CreateAdd(bits, llvm::ConstantInt::get(words, 0x1000));
  Value* cut = b.CreateAnd(sum, llvm::ConstantInt::get(words, 0xffffe000));
  Value* exponent = llvm::ConstantInt::get(words, 0x7f800000);
  Value* special = b.CreateICmpEQ(b.CreateAnd(bits, exponent), exponent);
  Value* rounded = b.CreateBitCast(b.CreateSelect(special, bits, cut), floats);
  return type == floats ? rounded : b.CreateFPExt(rounded, type);
}

// REQUIRES: an operator of one argument.
Value* FloatUnary(IRBuilderBase& b, const MathContext& math, ScalarOp op, Value* x) {
  Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
  switch (op) {
    case ScalarOp::kNeg:
      return b.CreateFNeg(x);
    case ScalarOp::kAbs:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    case ScalarOp::kExp:
      return EmitExp(b, math, x);
    case ScalarOp::kExp2:
      return EmitExp2(b, math, x);
    case ScalarOp::kLog:
      return EmitLog(b, math, x);
    case ScalarOp::kLog1p:
      return LogOfOneMore(b, math, x);
    case ScalarOp::kSqrt:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case ScalarOp::kRsqrt:
      return b.CreateFDiv(one, b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
    case ScalarOp::kReciprocal:
      return b.CreateFDiv(one, x);
    case ScalarOp::kTanh:
      return EmitTanh(b, math, x);
    case ScalarOp::kSigmoid:
      return EmitSigmoid(b, math, x);
    case ScalarOp::kErf:
      return EmitErf(b, math, x);
    case ScalarOp::kSin:
      return EmitSin(b, math, x);
    case ScalarOp::kCos:
      return EmitCos(b, math, x);
    case ScalarOp::kFloor:
      return EmitFloor(b, math, x);
    case ScalarOp::kCeil:
      return EmitCeil(b, math, x);
    case ScalarOp::kRound:
      return EmitRound(b, math, x);
    case ScalarOp::kSign:
      return FloatSign(b, x);
    case ScalarOp::kRoundTf32:
      return RoundTf32(b, x);
    case ScalarOp::kIsNan:
      return b.CreateFCmpUNO(x, x);
    case ScalarOp::kNot:
      return b.CreateFCmpOEQ(x, llvm::ConstantFP::get(x->getType(), 0.0));
    default:
      MLC_CHECK(false) << "not a unary operator: " << InfoOf(op).name;
      return nullptr;
  }
}

Value* FloatOp(IRBuilderBase& b, const MathContext& math, ScalarOp op, const Args& args) {
  if (args.size() == 1) return FloatUnary(b, math, op, args[0]);
  switch (op) {
    case ScalarOp::kAdd:
      return b.CreateFAdd(args[0], args[1]);
    case ScalarOp::kSub:
      return b.CreateFSub(args[0], args[1]);
    case ScalarOp::kMul:
      return b.CreateFMul(args[0], args[1]);
    case ScalarOp::kDiv:
      return b.CreateFDiv(args[0], args[1]);
    case ScalarOp::kMod:
      return FloatMod(b, math, args);
    case ScalarOp::kPow:
      return EmitPow(b, math, args[0], args[1]);
    case ScalarOp::kMax:
    case ScalarOp::kMin:
      return FloatMax(b, op, args);
    case ScalarOp::kEqual:
      return b.CreateFCmpOEQ(args[0], args[1]);
    case ScalarOp::kLess:
      return b.CreateFCmpOLT(args[0], args[1]);
    case ScalarOp::kLessEqual:
      return b.CreateFCmpOLE(args[0], args[1]);
    case ScalarOp::kFma:
      return EmitFma(b, math, args[0], args[1], args[2]);
    default:
      MLC_CHECK(false) << "not an operator of floats: " << InfoOf(op).name;
      return nullptr;
  }
}

// Division towards zero, or towards negative infinity for i64; a divisor of zero gives zero, so
// that no integer traps.
Value* IntDivide(IRBuilderBase& b, ScalarOp op, DType dtype, const Args& args) {
  Type* type = args[0]->getType();
  Value* zero = llvm::Constant::getNullValue(type);
  Value* one = llvm::ConstantInt::get(type, 1);
  Value* by_zero = b.CreateICmpEQ(args[1], zero);
  Value* divisor = b.CreateSelect(by_zero, one, args[1]);
  if (!IsSigned(dtype)) {
    Value* result =
        op == ScalarOp::kDiv ? b.CreateUDiv(args[0], divisor) : b.CreateURem(args[0], divisor);
    return b.CreateSelect(by_zero, zero, result);
  }
  // The most negative integer divided by -1 would trap: negate instead, which wraps.
  Value* minus_one = llvm::ConstantInt::getSigned(type, -1);
  Value* negates = b.CreateICmpEQ(divisor, minus_one);
  Value* safe = b.CreateSelect(negates, one, divisor);
  Value* quotient = b.CreateSDiv(args[0], safe);
  quotient = b.CreateSelect(negates, b.CreateNeg(args[0]), quotient);
  Value* rest = b.CreateSub(args[0], b.CreateMul(quotient, divisor));
  Value* down =
      b.CreateAnd(b.CreateICmpSLT(b.CreateXor(rest, divisor), zero), b.CreateICmpNE(rest, zero));
  Value* result = nullptr;
  if (op == ScalarOp::kMod) {
    result = b.CreateAdd(rest, b.CreateSelect(down, divisor, zero));
  } else if (dtype == DType::kI64) {
    result = b.CreateSub(quotient, b.CreateZExt(down, type));
  } else {
    result = quotient;
  }
  return b.CreateSelect(by_zero, zero, result);
}

Value* IntUnary(IRBuilderBase& b, ScalarOp op, DType dtype, Value* x) {
  Type* type = x->getType();
  Value* zero = llvm::Constant::getNullValue(type);
  switch (op) {
    case ScalarOp::kNeg:
      return b.CreateNeg(x);
    case ScalarOp::kAbs:
      return IsSigned(dtype) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
    case ScalarOp::kSign: {
      Value* positive = b.CreateZExt(b.CreateICmpNE(x, zero), type);
      if (!IsSigned(dtype)) return positive;
      return b.CreateSelect(b.CreateICmpSLT(x, zero), llvm::ConstantInt::getSigned(type, -1),
                            positive);
    }
    case ScalarOp::kNot:
      return b.CreateICmpEQ(x, zero);
    case ScalarOp::kIsNan:
      return b.CreateICmpNE(x, x);
    default:  // floor, ceil, round of an integer
      return x;
  }
}

Value* IntMax(IRBuilderBase& b, ScalarOp op, DType dtype, const Args& args) {
  const bool max = op == ScalarOp::kMax;
  llvm::Intrinsic::ID id = max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin;
  if (IsSigned(dtype)) id = max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
  return b.CreateBinaryIntrinsic(id, args[0], args[1]);
}

// Square and multiply over the bits of the exponent, wrapping; a negative exponent leaves 1 or -1
// of a base of 1 or -1 and 0 of any other.
Value* IntPow(IRBuilderBase& b, DType dtype, const Args& args) {
  Type* type = args[0]->getType();
  Value* one = llvm::ConstantInt::get(type, 1);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* base = args[0];
  const int bits = 8 * SizeOf(dtype) - (IsSigned(dtype) ? 1 : 0);
  Value* power = one;
  Value* square = base;
  for (int i = 0; i < bits; ++i) {
    Value* bit = b.CreateAnd(args[1], llvm::ConstantInt::get(type, uint64_t{1} << i));
    power = b.CreateMul(power, b.CreateSelect(b.CreateICmpNE(bit, zero), square, one));
    square = b.CreateMul(square, square);
  }
  if (!IsSigned(dtype)) return power;
  Value* minus_one = llvm::ConstantInt::getSigned(type, -1);
  Value* odd = b.CreateICmpNE(b.CreateAnd(args[1], one), zero);
  Value* of_minus_one = b.CreateSelect(odd, minus_one, one);
  Value* inverse = b.CreateSelect(b.CreateICmpEQ(base, minus_one), of_minus_one, zero);
  inverse = b.CreateSelect(b.CreateICmpEQ(base, one), one, inverse);
  return b.CreateSelect(b.CreateICmpSLT(args[1], zero), inverse, power);
}

Value* IntOp(IRBuilderBase& b, ScalarOp op, DType dtype, const Args& args) {
  if (args.size() == 1) return IntUnary(b, op, dtype, args[0]);
  const bool is_signed = IsSigned(dtype);
  switch (op) {
    case ScalarOp::kAdd:
      return b.CreateAdd(args[0], args[1]);
    case ScalarOp::kSub:
      return b.CreateSub(args[0], args[1]);
    case ScalarOp::kMul:
      return b.CreateMul(args[0], args[1]);
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
      return IntDivide(b, op, dtype, args);
    case ScalarOp::kMax:
    case ScalarOp::kMin:
      return IntMax(b, op, dtype, args);
    case ScalarOp::kEqual:
      return b.CreateICmpEQ(args[0], args[1]);
    case ScalarOp::kLess:
      return is_signed ? b.CreateICmpSLT(args[0], args[1]) : b.CreateICmpULT(args[0], args[1]);
    case ScalarOp::kLessEqual:
      return is_signed ? b.CreateICmpSLE(args[0], args[1]) : b.CreateICmpULE(args[0], args[1]);
    case ScalarOp::kAnd:
      return b.CreateAnd(args[0], args[1]);
    case ScalarOp::kOr:
      return b.CreateOr(args[0], args[1]);
    case ScalarOp::kXor:
      return b.CreateXor(args[0], args[1]);
    case ScalarOp::kFma:
      return b.CreateAdd(b.CreateMul(args[0], args[1]), args[2]);
    case ScalarOp::kPow:
      return IntPow(b, dtype, args);
    default:
      MLC_CHECK(false) << "not an operator of integers: " << InfoOf(op).name;
      return nullptr;
  }
}

}  // namespace

Value* EmitScalarOp(IRBuilderBase& b, const Features& features, ScalarOp op, DType dtype,
                    Args args) {
  if (op == ScalarOp::kSelect) return b.CreateSelect(args[0], args[1], args[2]);
  if (op == ScalarOp::kDot4) return EmitByteDot(b, features, args[0], args[1], args[2]);
  const MathContext math{features.fma, features.rounding, features.scaling};
  if (dtype == DType::kF32 || dtype == DType::kF64) return FloatOp(b, math, op, args);
  if (!IsFloat(dtype)) return IntOp(b, op, dtype, args);
  for (Value*& arg : args) arg = Convert(b, features, arg, dtype, DType::kF32);
  Value* result = FloatOp(b, math, op, args);
  return InfoOf(op).gives_bool ? result : Convert(b, features, result, DType::kF32, dtype);
}

}  // namespace mlc::codegen
