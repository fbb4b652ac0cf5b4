__device__ __forceinline__ float BF16Lane(const unsigned* words, int lane) {
  const unsigned word = words[lane / 2];
  return __uint_as_float(lane % 2 == 0 ? word << 16 : word & 0xffff0000u);
}
__device__ __forceinline__ int WrapAdd(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
__device__ __forceinline__ long long WrapAdd(long long a, long long b) { return (long long)((unsigned long long)a + (unsigned long long)b); }
__device__ __forceinline__ int WrapMul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
__device__ __forceinline__ long long WrapMul(long long a, long long b) { return (long long)((unsigned long long)a * (unsigned long long)b); }
__device__ __forceinline__ void PrefetchL2(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" :: "l"(__cvta_generic_to_global(at)));
}
__device__ __forceinline__ void StoreF32x2(float* to, const float* from) { *(float2*)to = make_float2(from[0], from[1]); }

extern "C" __global__ void __launch_bounds__(32)
gather_p0(
    const unsigned short* __restrict__ table,
    const long long* __restrict__ rows,
    float* __restrict__ y,
    unsigned char* Scratch, unsigned char* Counters) {
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  const long long chosen = rows[block_index];
  PrefetchL2(&table[WrapAdd(WrapMul(chosen, 64ll), (long long)(thread_index * 2))]);
  unsigned V0[1];
  V0[0] = *(const unsigned*)&table[WrapAdd(WrapMul(chosen, 64ll), (long long)(thread_index * 2))];
  float V1[2];
  V1[0] = BF16Lane(V0, 0);
  V1[1] = BF16Lane(V0, 1);
  StoreF32x2(&y[block_index * 64 + thread_index * 2], V1);
}
