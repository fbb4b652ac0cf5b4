__device__ __forceinline__ float BF16Lane(const unsigned* words, int lane) {
  const unsigned word = words[lane / 2];
  return __uint_as_float(lane % 2 == 0 ? word << 16 : word & 0xffff0000u);
}
__device__ __forceinline__ unsigned SubBF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("fma.rn.bf16x2 %0, %2, %3, %1;" : "=r"(result) : "r"(a), "r"(b), "r"(0xbf80bf80u));
  return result;
}
__device__ __forceinline__ unsigned MulBF16x2(unsigned a, unsigned b) {
  unsigned result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0x80008000u));
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
__device__ __forceinline__ void Unpack8BF16(unsigned* to, const int* codes, unsigned zeros, unsigned scales, bool) {
  const unsigned rest = SubBF16x2(zeros, 0x43004300u);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned two = __byte_perm(codes[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
    const unsigned pair =
        SubBF16x2(BitsIn(two, 0x007f007fu, 0x43004300u), (two & 0x00800080u) ^ 0x43804380u);
    to[i] = MulBF16x2(SubBF16x2(pair, HalfTwice(rest, i % 2)), HalfTwice(scales, i % 2));
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
unpack_bf16_8_p0(
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
  Unpack8BF16(&fragments[0], &codes[0 + 2], pairs[0], pairs[1], false);
  Unpack8BF16(&fragments[4], &codes[0], pairs[0], pairs[1], false);
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    StoreU32x4((unsigned*)&y[thread_index * 16 + i * 8], (fragments + 4 * i));
  }
}
