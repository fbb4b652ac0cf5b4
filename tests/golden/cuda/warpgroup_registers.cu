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
__device__ __forceinline__ void LoadF32x4(float* to, const float* from) {
  const float4 value = *(const float4*)from;
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  to[3] = value.w;
}
__device__ __forceinline__ void StoreF32x4(float* to, const float* from) { *(float4*)to = make_float4(from[0], from[1], from[2], from[3]); }
__device__ __forceinline__ void WarpgroupMmaRegistersTf32x16(float* c, const float* a, const void* b) {
  const unsigned long long B = TileDescriptor(b);
  asm volatile("{.reg .pred Add, Set; setp.ne.b32 Add, 1, 0; setp.ne.b32 Set, 0, 0; "
               "wgmma.fence.sync.aligned; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, Add, 1, 1; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%13, %14, %15, %16}, %17, Add, 1, 1; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%18, %19, %20, %21}, %22, Add, 1, 1; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%23, %24, %25, %26}, %27, Add, 1, 1; "
               "wgmma.commit_group.sync.aligned;}"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]),
                 "+f"(c[6]), "+f"(c[7])
               : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
                 "r"(__float_as_uint(a[3])), "l"(B), "r"(__float_as_uint(a[4])),
                 "r"(__float_as_uint(a[5])), "r"(__float_as_uint(a[6])),
                 "r"(__float_as_uint(a[7])), "l"(B + 2), "r"(__float_as_uint(a[8])),
                 "r"(__float_as_uint(a[9])), "r"(__float_as_uint(a[10])),
                 "r"(__float_as_uint(a[11])), "l"(B + 4), "r"(__float_as_uint(a[12])),
                 "r"(__float_as_uint(a[13])), "r"(__float_as_uint(a[14])),
                 "r"(__float_as_uint(a[15])), "l"(B + 6)
               : "memory");
}
__device__ __forceinline__ void WarpgroupMulRegistersTf32x16(float* c, const float* a, const void* b) {
  const unsigned long long B = TileDescriptor(b);
  asm volatile("{.reg .pred Add, Set; setp.ne.b32 Add, 1, 0; setp.ne.b32 Set, 0, 0; "
               "wgmma.fence.sync.aligned; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, Set, 1, 1; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%13, %14, %15, %16}, %17, Add, 1, 1; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%18, %19, %20, %21}, %22, Add, 1, 1; "
               "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, {%23, %24, %25, %26}, %27, Add, 1, 1; "
               "wgmma.commit_group.sync.aligned;}"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]),
                 "+f"(c[6]), "+f"(c[7])
               : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
                 "r"(__float_as_uint(a[3])), "l"(B), "r"(__float_as_uint(a[4])),
                 "r"(__float_as_uint(a[5])), "r"(__float_as_uint(a[6])),
                 "r"(__float_as_uint(a[7])), "l"(B + 2), "r"(__float_as_uint(a[8])),
                 "r"(__float_as_uint(a[9])), "r"(__float_as_uint(a[10])),
                 "r"(__float_as_uint(a[11])), "l"(B + 4), "r"(__float_as_uint(a[12])),
                 "r"(__float_as_uint(a[13])), "r"(__float_as_uint(a[14])),
                 "r"(__float_as_uint(a[15])), "l"(B + 6)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(128, 1)
warpgroup_registers_p0(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ c,
    unsigned char* Scratch, unsigned char* Counters) {
  extern __shared__ __align__(1024) unsigned char SharedMemory[];
  float* const tile = (float*)(SharedMemory + 0);
  float rows[16];
  float sum[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  CopyAsync16(&tile[thread_index * 4], &b[thread_index * 4], 16);
  CommitCopies();
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    float V0[4];
    LoadF32x4(V0, &a[(i * 128 + thread_index) * 4]);
    rows[4 * i] = V0[0];
    rows[4 * i + 1] = V0[1];
    rows[4 * i + 2] = V0[2];
    rows[4 * i + 3] = V0[3];
  }
  WaitCopies<0>();
  FenceTiles();
  __syncthreads();
  WarpgroupMulRegistersTf32x16(&sum[0], &rows[0], &tile[0]);
  WarpgroupMmaRegistersTf32x16(&sum[0], &rows[0], &tile[0]);
  WaitProducts<0>();
  #pragma unroll
  for (int L = 0; L < 16; ++L) asm volatile("" : "+f"(rows[L]) :: "memory");
  asm volatile("" : "+f"(sum[0]) :: "memory");
  asm volatile("" : "+f"(sum[1]) :: "memory");
  asm volatile("" : "+f"(sum[2]) :: "memory");
  asm volatile("" : "+f"(sum[3]) :: "memory");
  asm volatile("" : "+f"(sum[4]) :: "memory");
  asm volatile("" : "+f"(sum[5]) :: "memory");
  asm volatile("" : "+f"(sum[6]) :: "memory");
  asm volatile("" : "+f"(sum[7]) :: "memory");
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {
    StoreF32x4(&c[((int)((unsigned)thread_index / 32u) * 16 + (int)((unsigned)(int)((unsigned)thread_index % 32u) / 4u)) * 16 + i_1 * 8], (sum + 4 * i_1));
  }
}
