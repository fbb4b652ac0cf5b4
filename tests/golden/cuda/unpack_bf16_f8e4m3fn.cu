__device__ __forceinline__ float F16ToFloat(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ float BF16Lane(const unsigned* words, int lane) {
  const unsigned word = words[lane / 2];
  return __uint_as_float(lane % 2 == 0 ? word << 16 : word & 0xffff0000u);
}
__device__ __forceinline__ float F8E4M3ToFloat(unsigned char code) {
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
}
__device__ __forceinline__ float F8E4M3Lane(const unsigned* words, int lane) {
  return F8E4M3ToFloat((unsigned char)(words[lane / 4] >> lane % 4 * 8));
}
__device__ __forceinline__ unsigned MulBF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0x80008000u));
  return result;
}
__device__ __forceinline__ unsigned HalfTwice(unsigned pair, int half) {
  return __byte_perm(pair, 0, half == 0 ? 0x1010 : 0x3232);
}
__device__ __forceinline__ unsigned HighBytes(const unsigned* codes, int i) {
  return __byte_perm(codes[i / 2], 0, i % 2 == 0 ? 0x1404 : 0x3424);
}
__device__ __forceinline__ void UnpackE4M3BF16(unsigned* to, const unsigned* codes, unsigned scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned high = HighBytes(codes, i);
    const unsigned pair = (high & 0x80008000u) | ((high >> 4) & 0x07f007f0u);
    to[i] = MulBF16x2(MulBF16x2(pair, 0x7b807b80u), HalfTwice(scales, i % 2));
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
unpack_bf16_f8e4m3fn_p0(
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
  UnpackE4M3BF16(&fragments[0], &codes[0 + 2], pairs[1]);
  UnpackE4M3BF16(&fragments[4], &codes[0], pairs[1]);
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    StoreU32x4((unsigned*)&y[thread_index * 16 + i * 8], (fragments + 4 * i));
  }
}
