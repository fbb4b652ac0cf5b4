// Conversions of float8 values. A number in memory is a code; values are floats. Devices before
// compute capability 8.9 have no instructions for them.
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

const std::vector<DeviceFunction>& Float8DeviceFunctions() {
  static const auto* const rows = new std::vector<DeviceFunction>{
      {"F8E4M3ToFloat", {"F16ToFloat"}, {R"(float F8E4M3ToFloat(unsigned char code) {
#if __CUDA_ARCH__ >= 890
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)code));
  return F16ToFloat((unsigned short)halves);
#else
  const unsigned magnitude = code & 0x7fu, sign = (code & 0x80u) << 24;
  // The exponent as it is, times 2^120, which is exact.
  const float value = __uint_as_float(magnitude << 20) * __uint_as_float(0x7b800000u);
  return __uint_as_float((magnitude == 0x7fu ? 0x7fc00000u : __float_as_uint(value)) | sign);
#endif
})"}},
      {"F8E5M2ToFloat", {"F16ToFloat"}, {R"(float F8E5M2ToFloat(unsigned char code) {
  return F16ToFloat((unsigned short)(code << 8));
})"}},
      // Numbers that round to more than 448 are NaN. Small ones are counted in units of 2^-9, which
      // are the last bits of sums with 2^14.
      {"F8E4M3Bits", {}, {R"(unsigned char F8E4M3Bits(float value) {
  const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x43e80000u) return 0x7f;
#if __CUDA_ARCH__ >= 890
  unsigned short codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(0.0f), "f"(value));
  return (unsigned char)codes;
#else
  const unsigned small = __float_as_uint(__uint_as_float(magnitude) + 16384.0f) - 0x46800000u;
  const unsigned large = ((magnitude + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20) - 960u;
  return (unsigned char)((magnitude < 0x3c800000u ? small : large) | (bits >> 24 & 0x80u));
#endif
})"}},
      // Numbers that round to more than 57344 are infinite. Units of small ones are 2^-16.
      {"F8E5M2Bits", {}, {R"(unsigned char F8E5M2Bits(float value) {
  const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7e;
  const unsigned sign = bits >> 24 & 0x80u;
  if (magnitude >= 0x47700000u) return (unsigned char)(0x7cu | sign);
#if __CUDA_ARCH__ >= 890
  unsigned short codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(0.0f), "f"(value));
  return (unsigned char)codes;
#else
  const unsigned small = __float_as_uint(__uint_as_float(magnitude) + 128.0f) - 0x43000000u;
  const unsigned large = ((magnitude + 0xfffffu + (magnitude >> 21 & 1u)) >> 21) - 448u;
  return (unsigned char)((magnitude < 0x38800000u ? small : large) | sign);
#endif
})"}},
      {"RoundF8E4M3",
       {"F8E4M3ToFloat", "F8E4M3Bits"},
       {"float RoundF8E4M3(float value) { return F8E4M3ToFloat(F8E4M3Bits(value)); }"}},
      {"RoundF8E5M2",
       {"F8E5M2ToFloat", "F8E5M2Bits"},
       {"float RoundF8E5M2(float value) { return F8E5M2ToFloat(F8E5M2Bits(value)); }"}},
      // Towards zero, with the last bit set if that was not exact.
      {"OddFloat", {}, {R"(float OddFloat(double value) {
  const float near = __double2float_rz(value);
  return (double)near == value || value != value ? near
                                                 : __uint_as_float(__float_as_uint(near) | 1u);
})"}},
      {"F8E4M3Lane", {"F8E4M3ToFloat"}, {R"(float F8E4M3Lane(const unsigned* words, int lane) {
  return F8E4M3ToFloat((unsigned char)(words[lane / 4] >> lane % 4 * 8));
})"}},
      {"F8E5M2Lane", {"F8E5M2ToFloat"}, {R"(float F8E5M2Lane(const unsigned* words, int lane) {
  return F8E5M2ToFloat((unsigned char)(words[lane / 4] >> lane % 4 * 8));
})"}},
      {"PackF8E4M3",
       {"PackBytes", "F8E4M3Bits"},
       {R"(unsigned PackF8E4M3(float a, float b, float c, float d) {
  return PackBytes(F8E4M3Bits(a), F8E4M3Bits(b), F8E4M3Bits(c), F8E4M3Bits(d));
})"}},
      {"PackF8E5M2",
       {"PackBytes", "F8E5M2Bits"},
       {R"(unsigned PackF8E5M2(float a, float b, float c, float d) {
  return PackBytes(F8E5M2Bits(a), F8E5M2Bits(b), F8E5M2Bits(c), F8E5M2Bits(d));
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
