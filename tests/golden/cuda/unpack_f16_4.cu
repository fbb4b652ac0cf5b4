__device__ __forceinline__ float F16ToFloat(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ float F16Lane(const unsigned* words, int lane) {
  return F16ToFloat((unsigned short)(words[lane / 2] >> lane % 2 * 16));
}
__device__ __forceinline__ unsigned SubF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
__device__ __forceinline__ unsigned MulF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
__device__ __forceinline__ unsigned BitsIn(unsigned word, unsigned mask, unsigned number) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(number));
  return result;
}
__device__ __forceinline__ unsigned HalfTwice(unsigned pair, int half) {
  return __byte_perm(pair, 0, half == 0 ? 0x1010 : 0x3232);
}
__device__ __forceinline__ void Unpack4F16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool biased) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned pair = BitsIn((unsigned)codes[0] >> (4 * i), 0x000f000fu, 0x64006400u);
    if (!biased) pair = SubF16x2(pair, 0x64006400u);
    to[i] = MulF16x2(SubF16x2(pair, HalfTwice(zeros, i % 2)), HalfTwice(scales, i % 2));
  }
}
__device__ __forceinline__ void LoadI32x4(int* to, const int* from) {
  const int4 value = *(const int4*)from;
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  to[3] = value.w;
}
__device__ __forceinline__ void StoreU32x4(unsigned* to, const unsigned* from) { *(uint4*)to = make_uint4(from[0], from[1], from[2], from[3]); }

extern "C" __global__ void __launch_bounds__(32)
unpack_f16_4_p0(
    const int* __restrict__ codes_of,
    const unsigned short* __restrict__ numbers,
    unsigned short* __restrict__ y,
    unsigned char* Scratch, unsigned char* Counters) {
  int codes[4];
  unsigned pairs[2];
  unsigned fragments[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  int V0[4];
  LoadI32x4(V0, &codes_of[thread_index * 4]);
  codes[0] = V0[0];
  codes[1] = V0[1];
  codes[2] = V0[2];
  codes[3] = V0[3];
  unsigned V1[1];
  V1[0] = *(const unsigned*)&numbers[thread_index * 2];
  pairs[0] = V1[0];
  unsigned V2[1];
  V2[0] = *(const unsigned*)&numbers[thread_index * 2 + 64];
  pairs[1] = V2[0];
  Unpack4F16(&fragments[0], &codes[0 + 1], pairs[0], pairs[1], true);
  Unpack4F16(&fragments[4], &codes[0], pairs[0], pairs[1], false);
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    StoreU32x4((unsigned*)&y[thread_index * 16 + i * 8], (fragments + 4 * i));
  }
}
