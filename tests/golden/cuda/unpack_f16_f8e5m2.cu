__device__ __forceinline__ float F16ToFloat(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ float F16Lane(const unsigned* words, int lane) {
  return F16ToFloat((unsigned short)(words[lane / 2] >> lane % 2 * 16));
}
__device__ __forceinline__ float F8E5M2ToFloat(unsigned char code) {
  return F16ToFloat((unsigned short)(code << 8));
}
__device__ __forceinline__ float F8E5M2Lane(const unsigned* words, int lane) {
  return F8E5M2ToFloat((unsigned char)(words[lane / 4] >> lane % 4 * 8));
}
__device__ __forceinline__ unsigned MulF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
__device__ __forceinline__ unsigned HalfTwice(unsigned pair, int half) {
  return __byte_perm(pair, 0, half == 0 ? 0x1010 : 0x3232);
}
__device__ __forceinline__ unsigned HighBytes(const unsigned* codes, int i) {
  return __byte_perm(codes[i / 2], 0, i % 2 == 0 ? 0x1404 : 0x3424);
}
__device__ __forceinline__ void UnpackE5M2F16(unsigned* to, const unsigned* codes, unsigned scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[i] = MulF16x2(HighBytes(codes, i), HalfTwice(scales, i % 2));
  }
}
__device__ __forceinline__ void LoadU32x4(unsigned* to, const unsigned* from) {
  const uint4 value = *(const uint4*)from;
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  to[3] = value.w;
}
__device__ __forceinline__ void StoreU32x4(unsigned* to, const unsigned* from) { *(uint4*)to = make_uint4(from[0], from[1], from[2], from[3]); }

extern "C" __global__ void __launch_bounds__(32)
unpack_f16_f8e5m2_p0(
    const unsigned char* __restrict__ codes_of,
    const unsigned short* __restrict__ numbers,
    unsigned short* __restrict__ y,
    unsigned char* Scratch, unsigned char* Counters) {
  unsigned codes[4];
  unsigned pairs[2];
  unsigned fragments[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  unsigned V0[4];
  LoadU32x4(V0, (const unsigned*)&codes_of[thread_index * 16]);
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
  UnpackE5M2F16(&fragments[0], &codes[0 + 2], pairs[1]);
  UnpackE5M2F16(&fragments[4], &codes[0], pairs[1]);
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    StoreU32x4((unsigned*)&y[thread_index * 16 + i * 8], (fragments + 4 * i));
  }
}
