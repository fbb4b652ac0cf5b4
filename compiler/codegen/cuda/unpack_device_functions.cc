// How codes of few bits become a fragment of a matrix product: their bits go into the mantissa of a
// float that is a power of two, which is then subtracted.
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

const std::vector<DeviceFunction>& UnpackDeviceFunctions() {
  static const auto* const rows = new std::vector<DeviceFunction>{
      {"SubF16x2", {}, {R"(unsigned SubF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
})"}},
      {"MulF16x2", {}, {R"(unsigned MulF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
})"}},
      // Devices before 9.0 have no other arithmetic of two bf16 than fma: a - 1 * b, a * b - 0.
      {"SubBF16x2", {}, {R"(unsigned SubBF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("fma.rn.bf16x2 %0, %2, %3, %1;" : "=r"(result) : "r"(a), "r"(b), "r"(0xbf80bf80u));
  return result;
})"}},
      {"MulBF16x2", {}, {R"(unsigned MulBF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0x80008000u));
  return result;
})"}},
      // One half of a word, twice.
      {"HalfTwice", {}, {R"(unsigned HalfTwice(unsigned pair, int half) {
  return __byte_perm(pair, 0, half == 0 ? 0x1010 : 0x3232);
})"}},
      {"Unpack4F16",
       {"SubF16x2", "MulF16x2", "HalfTwice"},
       {R"(void Unpack4F16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool biased) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair = (((unsigned)codes[0] >> (4 * i)) & 0x000f000fu) | 0x64006400u;
    if (!biased) pair = SubF16x2(pair, 0x64006400u);
    to[i] = MulF16x2(SubF16x2(pair, HalfTwice(zeros, i % 2)), HalfTwice(scales, i % 2));
  }
})"}},
      {"Unpack4BF16",
       {"SubBF16x2", "MulBF16x2", "HalfTwice"},
       {R"(void Unpack4BF16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool biased) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair = (((unsigned)codes[0] >> (4 * i)) & 0x000f000fu) | 0x43004300u;
    if (!biased) pair = SubBF16x2(pair, 0x43004300u);
    to[i] = MulBF16x2(SubBF16x2(pair, HalfTwice(zeros, i % 2)), HalfTwice(scales, i % 2));
  }
})"}},
      {"Unpack8F16",
       {"SubF16x2", "MulF16x2", "HalfTwice"},
       {R"(void Unpack8F16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool biased) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair = __byte_perm(codes[i / 2], 0x64646464u, i % 2 == 0 ? 0x4140 : 0x4342);
    if (!biased) pair = SubF16x2(pair, 0x64006400u);
    to[i] = MulF16x2(SubF16x2(pair, HalfTwice(zeros, i % 2)), HalfTwice(scales, i % 2));
  }
})"}},
      // The mantissa of bf16 is too short for 8 bits: by way of f32.
      {"Unpack8BF16",
       {"SubBF16x2", "MulBF16x2", "HalfTwice", "PackBF16"},
       {R"(void Unpack8BF16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int first = i % 2 * 2;
    const float low = __uint_as_float(__byte_perm(codes[i / 2], 0x4b000000u, 0x7540 + first));
    const float high = __uint_as_float(__byte_perm(codes[i / 2], 0x4b000000u, 0x7541 + first));
    const unsigned pair = PackBF16(low - 8388608.0f, high - 8388608.0f);
    to[i] = MulBF16x2(SubBF16x2(pair, HalfTwice(zeros, i % 2)), HalfTwice(scales, i % 2));
  }
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
