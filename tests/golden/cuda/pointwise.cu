__device__ __forceinline__ float Max(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ double Max(double a, double b) { return a != a || a > b ? a : b; }
__device__ __forceinline__ int Max(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ long long Max(long long a, long long b) { return a > b ? a : b; }
__device__ __forceinline__ void LoadF32x4(float* to, const float* from) {
  const float4 value = *(const float4*)from;
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  to[3] = value.w;
}
__device__ __forceinline__ void StoreF32x4(float* to, const float* from) { *(float4*)to = make_float4(from[0], from[1], from[2], from[3]); }

extern "C" __global__ void __launch_bounds__(128)
add_relu_p0(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ y,
    unsigned char* Scratch, unsigned char* Counters) {
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  const int at = (block_index * 128 + thread_index) * 4;
  const int rest = 1001 - at;
  float V0[4] = {};
  if (rest >= 4) {
    LoadF32x4(V0, &a[at]);
  } else {
    #pragma unroll
    for (int L = 0; L < 4; ++L) if (L < rest) V0[L] = a[at + L];
  }
  float V1[4] = {};
  if (rest >= 4) {
    LoadF32x4(V1, &b[at]);
  } else {
    #pragma unroll
    for (int L = 0; L < 4; ++L) if (L < rest) V1[L] = b[at + L];
  }
  float V2[4];
  #pragma unroll
  for (int L = 0; L < 4; ++L) V2[L] = Max(V0[L] + V1[L], 0.0f);
  if (rest >= 4) {
    StoreF32x4(&y[at], V2);
  } else {
    #pragma unroll
    for (int L = 0; L < 4; ++L) if (L < rest) y[at + L] = V2[L];
  }
}
