__device__ __forceinline__ float F16ToFloat(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ unsigned PackF16(float low, float high) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ float F16Lane(const unsigned* words, int lane) {
  return F16ToFloat((unsigned short)(words[lane / 2] >> lane % 2 * 16));
}
__device__ __forceinline__ float TanhApprox(float a) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}
__device__ __forceinline__ float ErfApprox(float a) {
  const float square = fminf(a * a, 16.0f);
  const float p = fmaf(fmaf(-0.00161515966f, square, 0.103640819f), square, 1.12831392f);
  return TanhApprox(a * p);
}
__device__ __forceinline__ void LoadU32x4(unsigned* to, const unsigned* from) {
  const uint4 value = *(const uint4*)from;
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  to[3] = value.w;
}
__device__ __forceinline__ void StoreStreamingU32x4(unsigned* to, const unsigned* from) { __stcs((uint4*)to, make_uint4(from[0], from[1], from[2], from[3])); }

extern "C" __global__ void __launch_bounds__(256, 2)
gelu_f16_p0(
    const unsigned short* __restrict__ x,
    unsigned short* __restrict__ y,
    unsigned char* Scratch, unsigned char* Counters) {
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  const int at = (block_index * 256 + thread_index) * 8;
  const int rest = 4096 - at;
  unsigned V0[4] = {};
  if (rest > 0) LoadU32x4(V0, (const unsigned*)&x[at]);
  unsigned V1[4];
  float V2[8];
  #pragma unroll
  for (int L = 0; L < 8; ++L) {
    const float T3 = F16Lane(V0, L);
    const float T4 = T3 * 0.5f;
    V2[L] = fmaf(T4, ErfApprox(T3 * 0.70710677f), T4);
  }
  V1[0] = PackF16(V2[2 * 0], V2[2 * 0 + 1]);
  V1[1] = PackF16(V2[2 * 1], V2[2 * 1 + 1]);
  V1[2] = PackF16(V2[2 * 2], V2[2 * 2 + 1]);
  V1[3] = PackF16(V2[2 * 3], V2[2 * 3 + 1]);
  if (rest > 0) StoreStreamingU32x4((unsigned*)&y[at], V1);
}
