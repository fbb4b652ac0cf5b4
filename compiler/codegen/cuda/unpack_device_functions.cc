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
      // The bits of a mask, in a number: one instruction, while a compiler makes two of (a & b) |
      // c.
      {"BitsIn", {}, {R"(unsigned BitsIn(unsigned word, unsigned mask, unsigned number) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(number));
  return result;
})"}},
      // One half of a word, twice.
      {"HalfTwice", {}, {R"(unsigned HalfTwice(unsigned pair, int half) {
  return __byte_perm(pair, 0, half == 0 ? 0x1010 : 0x3232);
})"}},
      {"Unpack4F16",
       {"SubF16x2", "MulF16x2", "HalfTwice", "BitsIn"},
       {R"(void Unpack4F16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool biased) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair = BitsIn((unsigned)codes[0] >> (4 * i), 0x000f000fu, 0x64006400u);
    if (!biased) pair = SubF16x2(pair, 0x64006400u);
    to[i] = MulF16x2(SubF16x2(pair, HalfTwice(zeros, i % 2)), HalfTwice(scales, i % 2));
  }
})"}},
      {"Unpack4BF16",
       {"SubBF16x2", "MulBF16x2", "HalfTwice", "BitsIn"},
       {R"(void Unpack4BF16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool biased) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair = BitsIn((unsigned)codes[0] >> (4 * i), 0x000f000fu, 0x43004300u);
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
      // The mantissa of bf16 is too short for 8 bits: 128 and the lower seven, less 128 or 256 as
      // the highest says, is the code less 128.
      {"Unpack8BF16",
       {"SubBF16x2", "MulBF16x2", "HalfTwice", "BitsIn"},
       {R"(void Unpack8BF16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool) {
  const unsigned rest = SubBF16x2(zeros, 0x43004300u);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned two = __byte_perm(codes[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
    const unsigned pair =
        SubBF16x2(BitsIn(two, 0x007f007fu, 0x43004300u), (two & 0x00800080u) ^ 0x43804380u);
    to[i] = MulBF16x2(SubBF16x2(pair, HalfTwice(rest, i % 2)), HalfTwice(scales, i % 2));
  }
})"}},
      // Two codes of a word of float8, each in the high byte of a half.
      {"HighBytes", {}, {R"(unsigned HighBytes(const unsigned* codes, int i) {
  return __byte_perm(codes[i / 2], 0, i % 2 == 0 ? 0x1404 : 0x3424);
})"}},
      // Devices before 8.9 have no conversion of e4m3: exponents as they are, times 2^8.
      {"UnpackE4M3F16",
       {"MulF16x2", "HalfTwice", "HighBytes"},
       {R"(void UnpackE4M3F16(unsigned* to, const unsigned* codes, unsigned scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair;
#if __CUDA_ARCH__ >= 890
    const unsigned short two = (unsigned short)(codes[i / 2] >> (i % 2 * 16));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(two));
#else
    const unsigned high = HighBytes(codes, i);
    pair = MulF16x2((high & 0x80008000u) | ((high >> 1) & 0x3f803f80u), 0x5c005c00u);
#endif
    to[i] = MulF16x2(pair, HalfTwice(scales, i % 2));
  }
})"}},
      // The exponent of bf16 begins 120 below that of e4m3, and 112 below that of e5m2.
      {"UnpackE4M3BF16",
       {"MulBF16x2", "HalfTwice", "HighBytes"},
       {R"(void UnpackE4M3BF16(unsigned* to, const unsigned* codes, unsigned scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned high = HighBytes(codes, i);
    const unsigned pair = (high & 0x80008000u) | ((high >> 4) & 0x07f007f0u);
    to[i] = MulBF16x2(MulBF16x2(pair, 0x7b807b80u), HalfTwice(scales, i % 2));
  }
})"}},
      // The high byte of an f16 is an e5m2.
      {"UnpackE5M2F16",
       {"MulF16x2", "HalfTwice", "HighBytes"},
       {R"(void UnpackE5M2F16(unsigned* to, const unsigned* codes, unsigned scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[i] = MulF16x2(HighBytes(codes, i), HalfTwice(scales, i % 2));
  }
})"}},
      {"UnpackE5M2BF16",
       {"MulBF16x2", "HalfTwice", "HighBytes"},
       {R"(void UnpackE5M2BF16(unsigned* to, const unsigned* codes, unsigned scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned high = HighBytes(codes, i);
    const unsigned pair = (high & 0x80008000u) | ((high >> 3) & 0x0fe00fe0u);
    to[i] = MulBF16x2(MulBF16x2(pair, 0x77807780u), HalfTwice(scales, i % 2));
  }
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
