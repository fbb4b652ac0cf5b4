// Operators without a C++ spelling, conversions, packed narrow types.
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

const std::vector<DeviceFunction>& ScalarDeviceFunctions() {
  static const auto* const rows = new std::vector<DeviceFunction>{
      // ---- narrow floats
      {"F16ToFloat", {}, {R"(float F16ToFloat(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
})"}},
      {"F16Bits", {}, {R"(unsigned short F16Bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
})"}},
      {"RoundF16",
       {"F16ToFloat", "F16Bits"},
       {"float RoundF16(float value) { return F16ToFloat(F16Bits(value)); }"}},
      {"RoundDoubleToF16", {"F16ToFloat"}, {R"(float RoundDoubleToF16(double value) {
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
  return F16ToFloat(bits);
})"}},
      {"BF16ToFloat",
       {},
       {"float BF16ToFloat(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); "
        "}"}},
      {"BF16Bits", {}, {R"(unsigned short BF16Bits(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
})"}},
      {"RoundBF16",
       {"BF16ToFloat", "BF16Bits"},
       {"float RoundBF16(float value) { return BF16ToFloat(BF16Bits(value)); }"}},
      {"PackF16", {}, {R"(unsigned PackF16(float low, float high) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
})"}},
      {"PackBF16", {}, {R"(unsigned PackBF16(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
})"}},
      {"PackI16",
       {},
       {"unsigned PackI16(int low, int high) { return (low & 0xffff) | (unsigned)high << 16; }"}},
      {"PackTwoBytes",
       {},
       {"unsigned PackTwoBytes(int a, int b) { return __byte_perm(a, b, 0x0040); }"}},
      {"PackBytes", {}, {R"(unsigned PackBytes(int a, int b, int c, int d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
})"}},
      // ---- one element of packed words
      {"F16Lane", {"F16ToFloat"}, {R"(float F16Lane(const unsigned* words, int lane) {
  return F16ToFloat((unsigned short)(words[lane / 2] >> lane % 2 * 16));
})"}},
      {"BF16Lane", {}, {R"(float BF16Lane(const unsigned* words, int lane) {
  const unsigned word = words[lane / 2];
  return __uint_as_float(lane % 2 == 0 ? word << 16 : word & 0xffff0000u);
})"}},
      {"I16Lane",
       {},
       {"int I16Lane(const unsigned* words, int lane) { return (short)(words[lane / 2] >> lane % 2 "
        "* "
        "16); }"}},
      {"I8Lane",
       {},
       {"int I8Lane(const unsigned* words, int lane) { return (signed char)(words[lane / 4] >> "
        "lane "
        "% 4 * 8); }"}},
      {"U8Lane",
       {},
       {"int U8Lane(const unsigned* words, int lane) { return (unsigned char)(words[lane / 4] >> "
        "lane % 4 * 8); }"}},
      {"Lane16",
       {},
       {"unsigned short Lane16(const unsigned* words, int lane) { return (unsigned "
        "short)(words[lane "
        "/ 2] >> lane % 2 * 16); }"}},
      {"Lane8",
       {},
       {"unsigned char Lane8(const unsigned* words, int lane) { return (unsigned char)(words[lane "
        "/ "
        "4] >> lane % 4 * 8); }"}},
      {"SetLane16", {}, {R"(void SetLane16(unsigned* words, int lane, unsigned short bits) {
  words[lane / 2] |= (unsigned)bits << lane % 2 * 16;
})"}},
      {"SetLane8", {}, {R"(void SetLane8(unsigned* words, int lane, unsigned char bits) {
  words[lane / 4] |= (unsigned)bits << lane % 4 * 8;
})"}},
      // ---- integers, wrapping around
      {"WrapAdd",
       {},
       {"int WrapAdd(int a, int b) { return (int)((unsigned)a + (unsigned)b); }",
        "long long WrapAdd(long long a, long long b) { return (long long)((unsigned long long)a + "
        "(unsigned long long)b); }"}},
      {"WrapSub",
       {},
       {"int WrapSub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }",
        "long long WrapSub(long long a, long long b) { return (long long)((unsigned long long)a - "
        "(unsigned long long)b); }"}},
      {"WrapMul",
       {},
       {"int WrapMul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }",
        "long long WrapMul(long long a, long long b) { return (long long)((unsigned long long)a * "
        "(unsigned long long)b); }"}},
      {"WrapAbs",
       {"WrapSub"},
       {"int WrapAbs(int a) { return a < 0 ? WrapSub(0, a) : a; }",
        "long long WrapAbs(long long a) { return a < 0 ? WrapSub(0ll, a) : a; }"}},
      {"Divide",
       {"WrapSub"},
       {"int Divide(int a, int b) { return b == -1 ? WrapSub(0, a) : a / b; }"}},
      {"FloorDivide",
       {"WrapSub"},
       {R"(int FloorDivide(int a, int b) {
  return a / b - (a % b != 0 && (a ^ b) < 0);
})",
        R"(long long FloorDivide(long long a, long long b) {
  if (b == -1) return WrapSub(0ll, a);
  return a / b - (a % b != 0 && (a ^ b) < 0);
})"}},
      {"FloorMod",
       {},
       {R"(int FloorMod(int a, int b) {
  if (b == -1) return 0;
  const int rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
})",
        R"(long long FloorMod(long long a, long long b) {
  if (b == -1) return 0;
  const long long rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
})"}},
      {"IntPower", {}, {R"(long long IntPower(long long base, long long exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  unsigned long long result = 1, power = (unsigned long long)base;
  for (; exponent > 0; exponent /= 2, power *= power) {
    if (exponent % 2 != 0) result *= power;
  }
  return (long long)result;
})"}},
      // ---- maximum and minimum: of floats, NaN when an operand is
      {"Max",
       {},
       {R"(float Max(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
})",
        "double Max(double a, double b) { return a != a || a > b ? a : b; }",
        "int Max(int a, int b) { return a > b ? a : b; }",
        "long long Max(long long a, long long b) { return a > b ? a : b; }"}},
      {"Min",
       {},
       {R"(float Min(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
})",
        "double Min(double a, double b) { return a != a || a < b ? a : b; }",
        "int Min(int a, int b) { return a < b ? a : b; }",
        "long long Min(long long a, long long b) { return a < b ? a : b; }"}},
      {"Sign",
       {},
       {"float Sign(float a) { return a != a ? a : (float)((a > 0.0f) - (a < 0.0f)); }",
        "double Sign(double a) { return a != a ? a : (double)((a > 0.0) - (a < 0.0)); }",
        "int Sign(int a) { return (a > 0) - (a < 0); }",
        "long long Sign(long long a) { return (a > 0) - (a < 0); }"}},
      {"DotOfBytes", {}, {R"(int DotOfBytes(int a, int b, int c) {
  int result;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
})"}},
      {"IsNan",
       {},
       {"bool IsNan(float a) { return a != a; }", "bool IsNan(double a) { return a != a; }"}},
      // ---- conversions of floats to integers: towards zero, saturating, NaN to 0
      {"ToI32",
       {},
       {"int ToI32(float a) { return __float2int_rz(a); }",
        "int ToI32(double a) { return a != a ? 0 : __double2int_rz(a); }"}},
      {"ToNarrow",
       {"ToI32", "Max", "Min"},
       {"int ToNarrow(float a, int low, int high) { return Min(Max(ToI32(a), low), high); }",
        "int ToNarrow(double a, int low, int high) { return Min(Max(ToI32(a), low), high); }"}},
      // ---- floats rounded to bytes. Their sum with 1.5 * 2^23 is rounded to an integer, whose low
      // bits are the float's; `low` and `high` are above the same number. The unit that converts
      // and rounds floats is eight times as slow.
      {"ByteAbove", {}, {R"(float ByteAbove(float x, float zero, float low, float high) {
  const float rounded = __fadd_rn(x, 12582912.0f);
  const float above = zero == 0.0f ? rounded : __fadd_rn(rounded, zero);
  const float inside = fminf(fmaxf(above, low), high);
  return low != 12582912.0f && x != x ? 12582912.0f : inside;
})"}},
      // With other bits above those of the byte.
      {"RoundToLowByte",
       {"ByteAbove"},
       {R"(int RoundToLowByte(float x, float zero, float low, float high) {
  return __float_as_int(ByteAbove(x, zero, low, high));
})"}},
      {"RoundToU8", {"ByteAbove"}, {R"(int RoundToU8(float x, float zero, float low, float high) {
  return __float_as_int(ByteAbove(x, zero, low, high)) & 0xff;
})"}},
      {"RoundToI8", {"ByteAbove"}, {R"(int RoundToI8(float x, float zero, float low, float high) {
  return (signed char)__float_as_int(ByteAbove(x, zero, low, high));
})"}},
      {"RoundToByte",
       {"ByteAbove"},
       {R"(float RoundToByte(float x, float zero, float low, float high) {
  return __fadd_rn(ByteAbove(x, zero, low, high), -12582912.0f);
})"}},
      {"U8LaneToFloat", {}, {R"(float U8LaneToFloat(const unsigned* words, int lane) {
  const unsigned above = __byte_perm(words[lane / 4], 0x4b000000u, 0x7440 | lane % 4);
  return __fadd_rn(__uint_as_float(above), -8388608.0f);
})"}},
      {"ToI64",
       {},
       {"long long ToI64(float a) { return a != a ? 0 : __float2ll_rz(a); }",
        "long long ToI64(double a) { return a != a ? 0 : __double2ll_rz(a); }"}},
      // ---- functions
      // Half the instructions of cvt.rna.tf32. NaN may come out as a number; what subtracts that
      // from its operand has NaN again.
      {"RoundTf32", {}, {R"(float RoundTf32(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
})"}},
      {"Sigmoid",
       {},
       {"float Sigmoid(float a) { return 1.0f / (1.0f + expf(-a)); }",
        "double Sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }"}},
      {"ReciprocalApprox", {}, {R"(float ReciprocalApprox(float a) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
})"}},
      {"DivideApprox", {}, {"float DivideApprox(float a, float b) { return __fdividef(a, b); }"}},
      {"SqrtApprox", {}, {R"(float SqrtApprox(float a) {
  float result;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
})"}},
      {"RsqrtApprox", {}, {R"(float RsqrtApprox(float a) {
  float result;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
})"}},
      {"ExpApprox", {}, {R"(float ExpApprox(float a) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a * 1.4426950408889634f));
  return result;
})"}},
      {"Exp2Approx", {}, {R"(float Exp2Approx(float a) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
})"}},
      {"TanhApprox", {}, {R"(float TanhApprox(float a) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
})"}},
      {"SigmoidApprox",
       {"ExpApprox", "ReciprocalApprox"},
       {"float SigmoidApprox(float a) { return ReciprocalApprox(1.0f + ExpApprox(-a)); }"}},
      // tanh(x * p(x*x)) is within 5.8e-5 of erf(x), relatively; p is fitted up to |x| = 6.
      {"ErfApprox", {"TanhApprox"}, {R"(float ErfApprox(float a) {
  const float square = fminf(a * a, 16.0f);
  const float p = fmaf(fmaf(-0.00161515966f, square, 0.103640819f), square, 1.12831392f);
  return TanhApprox(a * p);
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
