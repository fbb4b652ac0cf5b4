__device__ __forceinline__ unsigned BlockAddress(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ __forceinline__ void CopyAsync16(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" :: "n"(kPending) : "memory");
}
__device__ __forceinline__ void FenceTiles() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ unsigned long long TileDescriptor(const void* at) {
  // Rows of 128 bytes, swizzled by 8; 1024 bytes from one eight of them to the next.
  return (1ull << 62) | (64ull << 32) | (1ull << 16) | ((BlockAddress(at) & 0x3ffff) >> 4);
}
template <int kPending>
__device__ __forceinline__ void WaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(kPending) : "memory");
}
__device__ __forceinline__ void StoreF32x4(float* to, const float* from) { *(float4*)to = make_float4(from[0], from[1], from[2], from[3]); }
__device__ __forceinline__ void WarpgroupMmaF16x16(float* c, const void* a, const void* b) {
  const unsigned long long A = TileDescriptor(a), B = TileDescriptor(b);
  asm volatile("{.reg .pred Add, Set; setp.ne.b32 Add, 1, 0; setp.ne.b32 Set, 0, 0; "
               "wgmma.fence.sync.aligned; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, Add, 1, 1, 0, 0; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %10, %11, Add, 1, 1, 0, 0; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %12, %13, Add, 1, 1, 0, 0; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %14, %15, Add, 1, 1, 0, 0; "
               "wgmma.commit_group.sync.aligned;}"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]),
                 "+f"(c[6]), "+f"(c[7])
               : "l"(A), "l"(B), "l"(A + 2), "l"(B + 2), "l"(A + 4), "l"(B + 4), "l"(A + 6),
                 "l"(B + 6)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 1)
warpgroup_tile_p0(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    float* __restrict__ c,
    unsigned char* Scratch, unsigned char* Counters) {
  extern __shared__ __align__(1024) unsigned char SharedMemory[];
  float* const first = (float*)(SharedMemory + 0);
  unsigned short* const a_tile = (unsigned short*)(SharedMemory + 1024);
  unsigned short* const b_tile = (unsigned short*)(SharedMemory + 17408);
  float sum[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    CopyAsync16(&a_tile[(i * 256 + thread_index) * 8], &a[(i * 256 + thread_index) * 8], 16);
  }
  if (thread_index < 128) {
    CopyAsync16(&b_tile[thread_index * 8], &b[thread_index * 8], 16);
  }
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {
    sum[4 * i_1] = 0.0f;
    sum[4 * i_1 + 1] = 0.0f;
    sum[4 * i_1 + 2] = 0.0f;
    sum[4 * i_1 + 3] = 0.0f;
  }
  CommitCopies();
  WaitCopies<0>();
  first[(int)((unsigned)thread_index % 8u)] = 0.0f;
  FenceTiles();
  __syncthreads();
  const int group = (int)((unsigned)thread_index / 128u);
  WarpgroupMmaF16x16(&sum[0], &a_tile[group * 4096], &b_tile[0]);
  WaitProducts<1>();
  WaitProducts<0>();
  asm volatile("" : "+f"(sum[0]) :: "memory");
  asm volatile("" : "+f"(sum[1]) :: "memory");
  asm volatile("" : "+f"(sum[2]) :: "memory");
  asm volatile("" : "+f"(sum[3]) :: "memory");
  asm volatile("" : "+f"(sum[4]) :: "memory");
  asm volatile("" : "+f"(sum[5]) :: "memory");
  asm volatile("" : "+f"(sum[6]) :: "memory");
  asm volatile("" : "+f"(sum[7]) :: "memory");
  #pragma unroll
  for (int i_2 = 0; i_2 < 2; ++i_2) {
    StoreF32x4(&c[((int)((unsigned)thread_index / 32u) * 16 + (int)((unsigned)(int)((unsigned)thread_index % 32u) / 4u)) * 16 + i_2 * 8], (sum + 4 * i_2));
  }
}
