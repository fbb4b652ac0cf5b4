__device__ __forceinline__ float Max(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ double Max(double a, double b) { return a != a || a > b ? a : b; }
__device__ __forceinline__ int Max(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ long long Max(long long a, long long b) { return a > b ? a : b; }
__device__ __forceinline__ float Min(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ double Min(double a, double b) { return a != a || a < b ? a : b; }
__device__ __forceinline__ int Min(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ long long Min(long long a, long long b) { return a < b ? a : b; }
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
__device__ __forceinline__ void LoadMatrix4(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(BlockAddress(row)) : "memory");
}
__device__ __forceinline__ void LoadMatrixTransposed4(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(BlockAddress(row)) : "memory");
}
__device__ __forceinline__ void MmaF16(float* c, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void StoreF32x4(float* to, const float* from) { *(float4*)to = make_float4(from[0], from[1], from[2], from[3]); }

extern "C" __global__ void __launch_bounds__(128, 2)
tile_f16_p0(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    float* __restrict__ c,
    unsigned char* Scratch, unsigned char* Counters) {
  extern __shared__ __align__(128) unsigned char SharedMemory[];
  unsigned short* const a_tile = (unsigned short*)(SharedMemory + 0);
  unsigned short* const b_tile = (unsigned short*)(SharedMemory + 6144);
  float sum[16];
  unsigned a_part[4];
  unsigned b_part[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  const int warp = (int)((unsigned)thread_index / 32u);
  const int lane = (int)((unsigned)thread_index % 32u);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[4 * i] = 0.0f;
    sum[4 * i + 1] = 0.0f;
    sum[4 * i + 2] = 0.0f;
    sum[4 * i + 3] = 0.0f;
  }
  const int T0 = (int)((unsigned)thread_index / 2u);
  const int T1 = (int)((unsigned)thread_index % 2u) * 8;
  CopyAsync16(&a_tile[T0 * 24 + T1], &a[T0 * 128 + T1], 16);
  if (thread_index < 64) {
    const int T2 = (int)((unsigned)thread_index / 2u);
    const int T3 = (int)((unsigned)thread_index % 2u) * 8;
    CopyAsync16(&b_tile[T2 * 24 + T3], &b[T2 * 128 + T3], Min(Max(248 - T2 * 8, 0), 8) * 2);
  }
  CommitCopies();
  #pragma unroll 1
  for (int slab = 0; slab < 8; ++slab) {
    if (slab < 7) {
      const int T4 = (int)((unsigned)thread_index / 2u);
      const int T5 = (int)((unsigned)thread_index % 2u) * 8;
      CopyAsync16(&a_tile[((int)((unsigned)(slab + 1) % 2u) * 64 + T4) * 24 + T5], &a[T4 * 128 + slab * 16 + T5 + 16], 16);
      if (thread_index < 64) {
        const int T6 = (int)((unsigned)thread_index / 2u);
        const int T7 = (int)((unsigned)thread_index % 2u) * 8;
        CopyAsync16(&b_tile[((int)((unsigned)(slab + 1) % 2u) * 32 + T6) * 24 + T7], &b[T6 * 128 + slab * 16 + T7 + 16], Min(Max(248 - T6 * 8, 0), 8) * 2);
      }
      CommitCopies();
    }
    WaitCopies<1>();
    __syncthreads();
    const int stage = (int)((unsigned)slab % 2u);
    LoadMatrix4(&a_part[0], &a_tile[(stage * 64 + warp * 16 + (int)((unsigned)lane % 16u)) * 24 + (int)((unsigned)lane / 16u) * 8]);
    #pragma unroll
    for (int i_1 = 0; i_1 < 2; ++i_1) {
      LoadMatrixTransposed4(&b_part[4 * i_1], &b_tile[(stage * 32 + i_1 * 16 + (int)((unsigned)lane % 16u)) * 24 + (int)((unsigned)lane / 16u) * 8]);
    }
    #pragma unroll
    for (int i_2 = 0; i_2 < 2; ++i_2) {
      MmaF16(&sum[4 * (i_2 * 2)], &a_part[0], &b_part[4 * i_2]);
      MmaF16(&sum[4 * (i_2 * 2 + 1)], &a_part[0], &b_part[4 * i_2 + 2]);
    }
    __syncthreads();
  }
  #pragma unroll
  for (int i_3 = 0; i_3 < 4; ++i_3) {
    StoreF32x4(&c[(warp * 16 + (int)((unsigned)lane / 4u)) * 32 + i_3 * 8], (sum + 4 * i_3));
  }
}
