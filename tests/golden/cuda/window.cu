__device__ __forceinline__ int FloorMod(int a, int b) {
  if (b == -1) return 0;
  const int rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}
__device__ __forceinline__ long long FloorMod(long long a, long long b) {
  if (b == -1) return 0;
  const long long rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}
__device__ __forceinline__ float Max(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ double Max(double a, double b) { return a != a || a > b ? a : b; }
__device__ __forceinline__ int Max(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ long long Max(long long a, long long b) { return a > b ? a : b; }

extern "C" __global__ void __launch_bounds__(64)
window_p0(
    const float* __restrict__ x,
    float* __restrict__ y,
    unsigned char* Scratch, unsigned char* Counters) {
  float line[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  if (thread_index < 56) {
    #pragma unroll
    for (int j = 0; j < 3; ++j) {
      const int y_in = block_index * 2 + j - 1;
      line[j] = (0 <= y_in ? 1 : 0) > 0 ? x[y_in * 56 + thread_index] : 0.0f;
    }
    const int T0 = Max(((thread_index - 3) >> 2) + FloorMod(thread_index - 3, 5) + 2, 0);
    float V1[2];
    V1[0] = x[T0 + 3 * 0];
    V1[1] = x[T0 + 3 * 1];
    float T2 = V1[0];
    T2 = Max(T2, V1[1]);
    y[block_index * 56 + thread_index] = line[0] * line[2] + T2;
  }
}
