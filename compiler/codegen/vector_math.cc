#include "compiler/codegen/vector_math.h"

#include <cstdint>
#include <limits>

#include "compiler/codegen/polynomial.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace mlc::codegen {

using llvm::IRBuilderBase;
using llvm::Value;

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ln 2 in two parts; the first has so few bits that its products with exponents are exact.
double Ln2High(const Value* x) { return IsF64(x) ? 0x1.62e42feep-1 : 0x1.62e4p-1; }
double Ln2Low(const Value* x) { return IsF64(x) ? 1.9082149292705877e-10 : 1.4286068203094172e-6; }

// x - n * ln(2).
Value* MinusLn2(IRBuilderBase& b, const MathContext& math, Value* x, Value* n) {
  Value* r = EmitFma(b, math, n, Number(x, -Ln2High(x)), x);
  return EmitFma(b, math, n, Number(x, -Ln2Low(x)), r);
}

// exp(x) = 2^exponent * (1 + fraction), |ln(1 + fraction)| <= ln(2)/2.
struct Exponential {
  Value* fraction;
  Value* exponent;  // an integer
};

// exp(r) * 2^exponent, |r| <= ln(2)/2.
Exponential OfRemainder(IRBuilderBase& b, const MathContext& math, Value* r, Value* exponent) {
  Value* p = nullptr;
  if (IsF64(r)) {
    p = Polynomial(
        b, math, r,
        {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
         1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800});
  } else {
    p = Polynomial(b, math, r,
                   {0.50000001009572312, 0.16666512893256367, 0.041666187359339726,
                    0.0083695980173619968, 0.0013951712752892187});
  }
  return {EmitFma(b, math, b.CreateFMul(r, r), p, r), exponent};
}

Exponential ReduceExp(IRBuilderBase& b, const MathContext& math, Value* x) {
  const Nearest n = RoundSmall(b, b.CreateFMul(x, Number(x, kLog2E)));
  return OfRemainder(b, math, MinusLn2(b, math, x, n.value), n.bits);
}

Exponential ReduceExp2(IRBuilderBase& b, const MathContext& math, Value* x) {
  const Nearest n = RoundSmall(b, x);
  Value* r = b.CreateFMul(b.CreateFSub(x, n.value), Number(x, kLn2));
  return OfRemainder(b, math, r, n.bits);
}

// 2^n for a normal result. Bits of n that the shift drops do not matter.
Value* PowerOfTwo(IRBuilderBase& b, const Value* like, Value* n) {
  const bool wide = IsF64(like);
  Value* biased = b.CreateAdd(n, BitsNumber(like, wide ? 1023 : 127));
  return b.CreateBitCast(b.CreateShl(biased, BitsNumber(like, wide ? 52 : 23)), like->getType());
}

// In two steps: 2^n itself may be infinite or subnormal.
Value* Scaled(IRBuilderBase& b, const Exponential& e) {
  Value* n1 = b.CreateAShr(e.exponent, BitsNumber(e.fraction, 1));
  Value* n2 = b.CreateSub(e.exponent, n1);
  Value* value = b.CreateFAdd(e.fraction, Number(e.fraction, 1.0));
  return b.CreateFMul(b.CreateFMul(value, PowerOfTwo(b, value, n1)), PowerOfTwo(b, value, n2));
}

bool IsWideF32(const Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector != nullptr && vector->getNumElements() == 16 && !IsF64(x);
}

// Powers of f32 by even exponents: 2^(n/2), which is normal where 2^n is not, scales twice, and a
// result that is subnormal is rounded once. Sums near 2^24 are even, and their low bits are half
// of n.
constexpr double kEvenMagic = 0x1.8p24;

Value* ScaledTwice(IRBuilderBase& b, Value* p, Value* sum) {
  Value* root = PowerOfTwo(b, p, b.CreateBitCast(sum, BitsType(p)));
  return b.CreateFMul(b.CreateFMul(p, root), root);
}

// REQUIRES: -104 <= x <= 89.
Value* EvenExp(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* magic = Number(x, kEvenMagic);
  Value* sum = EmitFma(b, math, x, Number(x, kLog2E), magic);
  Value* r = MinusLn2(b, math, x, b.CreateFSub(sum, magic));
  // Relative error 1.5e-8 for |r| <= ln(2), before rounding.
  Value* p = Polynomial(b, math, r,
                        {1.0, 1.0, 0.5000003454336073, 0.16666614306827232, 0.04166127857225997,
                         0.008336097515614344, 0.0014104263471879444, 0.00019611852354138593});
  return ScaledTwice(b, p, sum);
}

// REQUIRES: -151 <= x <= 129.
Value* EvenExp2(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* magic = Number(x, kEvenMagic);
  Value* sum = b.CreateFAdd(x, magic);
  Value* f = b.CreateFSub(x, b.CreateFSub(sum, magic));
  // Relative error 1.2e-8 for |f| <= 1, before rounding.
  Value* p = Polynomial(
      b, math, f,
      {1.0, 0.6931472165933253, 0.2402267288415274, 0.05550379503279161, 0.009616720009543334,
       0.0013339490891238481, 0.0001565366308743238, 1.5030573927002355e-05});
  return ScaledTwice(b, p, sum);
}

constexpr uint32_t kCurrentRounding = 4;

// p * 2^floor(n), rounded once where the result is subnormal. REQUIRES: IsWideF32(p).
Value* ScaleF(IRBuilderBase& b, Value* p, Value* n) {
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                           {p, n, llvm::PoisonValue::get(p->getType()), b.getInt16(0xffff),
                            b.getInt32(kCurrentRounding)});
}

// exp in as few instructions as AVX-512 allows: one scales by 2^n, and rounds once where the result
// is subnormal. REQUIRES: IsWideF32(x), |x| < 2^14.
Value* ScaledExp(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* magic = Number(x, 0x1.8p23);
  Value* n = b.CreateFSub(EmitFma(b, math, x, Number(x, kLog2E), magic), magic);
  Value* r = MinusLn2(b, math, x, n);
  Value* p = Polynomial(b, math, r,
                        {1.0, 1.0, 0.50000001009572312, 0.16666512893256367, 0.041666187359339726,
                         0.0083695980173619968, 0.0013951712752892187});
  return ScaleF(b, p, n);
}

// 2^x = 2^floor(x) * 2^f, where AVX-512 has an instruction for the fraction and one that scales by
// the floor. Infinities and NaN need no care: the fraction of an infinity is 0.
// REQUIRES: IsWideF32(x).
Value* ScaledExp2(IRBuilderBase& b, const MathContext& math, Value* x) {
  constexpr uint32_t kDownQuietly = 9;
  Value* f = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_reduce_ps_512, {},
                               {x, b.getInt32(kDownQuietly), llvm::PoisonValue::get(x->getType()),
                                b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
  // Relative error 8e-8 for 0 <= f <= 1, before rounding; exactly 1 at 0.
  Value* p = Polynomial(b, math, f,
                        {1.0, 0.6931513118046261, 0.24016445015489743, 0.05579991310422747,
                         0.009017030321931824, 0.001867130070065115});
  return ScaleF(b, p, x);
}

// log(x) for finite x > 0.
Value* LogOfPositive(IRBuilderBase& b, const MathContext& math, Value* x) {
  const bool wide = IsF64(x);
  const int mantissa = wide ? 52 : 23;
  Value* tiny = b.CreateFCmpOLT(x, Number(x, wide ? 0x1p-1022 : 0x1p-126));
  Value* scaled = b.CreateFMul(x, Number(x, wide ? 0x1p54 : 0x1p24));
  Value* bits = b.CreateBitCast(b.CreateSelect(tiny, scaled, x), BitsType(x));
  // x = 2^k * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2).
  Value* offset = BitsNumber(x, wide ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u);
  Value* k =
      b.CreateAShr(b.CreateSub(bits, offset), BitsNumber(x, static_cast<uint64_t>(mantissa)));
  Value* unit = b.CreateSub(bits, b.CreateShl(k, BitsNumber(x, static_cast<uint64_t>(mantissa))));
  Value* f = b.CreateFSub(b.CreateBitCast(unit, x->getType()), Number(x, 1.0));
  k = b.CreateSub(k, b.CreateSelect(tiny, BitsNumber(x, wide ? 54 : 24), BitsNumber(x, 0)));
  Value* magic = Number(x, wide ? 0x1.8p52 : 0x1.8p23);
  Value* shifted = b.CreateAdd(k, b.CreateBitCast(magic, BitsType(x)));
  Value* e = b.CreateFSub(b.CreateBitCast(shifted, x->getType()), magic);
  Value* low = b.CreateFMul(e, Number(x, Ln2Low(x)));
  Value* rest = nullptr;  // log(1 + f) - f
  if (wide) {
    // log(1 + f) = 2 atanh(s), s = f / (2 + f), arranged so that f itself is exact.
    Value* s = b.CreateFDiv(f, b.CreateFAdd(f, Number(x, 2.0)));
    Value* z = b.CreateFMul(s, s);
    Value* series = Polynomial(b, math, z,
                               {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
                                2.0 / 17, 2.0 / 19, 2.0 / 21});
    Value* half_square = b.CreateFMul(b.CreateFMul(f, f), Number(x, 0.5));
    Value* inner = EmitFma(b, math, z, series, half_square);
    rest = b.CreateFSub(EmitFma(b, math, s, inner, low), half_square);
  } else {
    Value* p = Polynomial(b, math, f,
                          {-0.49999990075064897, 0.33333308587255686, -0.2500145908064782,
                           0.2000297998101407, -0.16612390214677398, 0.14164526386291833,
                           -0.13200647573630625, 0.12996651106234625, -0.078325537242290266});
    rest = EmitFma(b, math, b.CreateFMul(f, f), p, low);
  }
  return EmitFma(b, math, e, Number(x, Ln2High(x)), b.CreateFAdd(f, rest));
}

// pow for f64: the error of y * log(x) grows with its size and stays below 1e-13.
Value* PowF64(IRBuilderBase& b, const MathContext& math, Value* x, Value* y) {
  Value* zero = Number(x, 0.0);
  Value* one = Number(x, 1.0);
  Value* magnitude = Absolute(b, x);
  Value* power = EmitExp(b, math, b.CreateFMul(y, EmitLog(b, math, magnitude)));
  Value* y_whole = EmitTrunc(b, math, y);
  Value* half = b.CreateFMul(y, Number(x, 0.5));
  Value* is_integer = b.CreateFCmpOEQ(y_whole, y);
  Value* is_odd = b.CreateAnd(is_integer, b.CreateFCmpONE(EmitTrunc(b, math, half), half));
  power = b.CreateSelect(is_odd, WithSignOf(b, power, x), power);
  Value* no_root = b.CreateAnd(b.CreateFCmpOLT(x, zero), b.CreateNot(is_integer));
  Value* nan = Number(x, std::numeric_limits<double>::quiet_NaN());
  power = b.CreateSelect(no_root, nan, power);
  Value* endless = b.CreateFCmpOEQ(Absolute(b, y), Number(x, kInfinity));
  Value* unit = b.CreateAnd(endless, b.CreateFCmpOEQ(magnitude, one));
  unit = b.CreateOr(unit, b.CreateFCmpOEQ(x, one));
  unit = b.CreateOr(unit, b.CreateFCmpOEQ(y, zero));
  return b.CreateSelect(unit, one, power);
}

}  // namespace

Value* EmitExp(IRBuilderBase& b, const MathContext& math, Value* x) {
  const bool wide = IsF64(x);
  // Beyond these bounds the result is 0 or infinity all the same.
  x = AtMost(b, AtLeast(b, x, wide ? -746.0 : -104.0), wide ? 710.0 : 89.0);
  if (math.scaling && IsWideF32(x)) return ScaledExp(b, math, x);
  if (!wide) return EvenExp(b, math, x);
  return Scaled(b, ReduceExp(b, math, x));
}

Value* EmitExp2(IRBuilderBase& b, const MathContext& math, Value* x) {
  if (math.scaling && IsWideF32(x)) return ScaledExp2(b, math, x);
  const bool wide = IsF64(x);
  x = AtMost(b, AtLeast(b, x, wide ? -1076.0 : -151.0), wide ? 1025.0 : 129.0);
  return wide ? Scaled(b, ReduceExp2(b, math, x)) : EvenExp2(b, math, x);
}

Value* EmitLog(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* zero = Number(x, 0.0);
  Value* infinity = Number(x, kInfinity);
  Value* regular = b.CreateAnd(b.CreateFCmpOGT(x, zero), b.CreateFCmpOLT(x, infinity));
  // x - x is NaN for infinities and NaN; a negative x gives NaN.
  Value* special = b.CreateSelect(b.CreateFCmpOEQ(x, infinity), infinity,
                                  Number(x, std::numeric_limits<double>::quiet_NaN()));
  special = b.CreateSelect(b.CreateFCmpOEQ(x, zero), Number(x, -kInfinity), special);
  return b.CreateSelect(regular, LogOfPositive(b, math, x), special);
}

// tanh |x| = m / (m + 2), m = exp(2|x|) - 1 without cancellation near 0.
Value* EmitTanh(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* magnitude = Absolute(b, x);
  Value* twice = AtMost(b, b.CreateFAdd(magnitude, magnitude), IsF64(x) ? 44.0 : 22.0);
  const Exponential e = ReduceExp(b, math, twice);
  Value* scale = PowerOfTwo(b, x, e.exponent);
  Value* m = EmitFma(b, math, scale, e.fraction, b.CreateFSub(scale, Number(x, 1.0)));
  return WithSignOf(b, b.CreateFDiv(m, b.CreateFAdd(m, Number(x, 2.0))), x);
}

Value* EmitSigmoid(IRBuilderBase& b, const MathContext& math, Value* x) {
  Value* one = Number(x, 1.0);
  return b.CreateFDiv(one, b.CreateFAdd(EmitExp(b, math, b.CreateFNeg(x)), one));
}

Value* EmitPow(IRBuilderBase& b, const MathContext& math, Value* x, Value* y) {
  if (IsF64(x)) return PowF64(b, math, x, y);
  llvm::Type* wide = b.getDoubleTy();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType())) {
    wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
  }
  Value* power = PowF64(b, math, b.CreateFPExt(x, wide), b.CreateFPExt(y, wide));
  return b.CreateFPTrunc(power, x->getType());
}

}  // namespace mlc::codegen
