__device__ __forceinline__ unsigned BlockAddress(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ __forceinline__ unsigned long long TileDescriptor(const void* at) {
  // Rows of 128 bytes, swizzled by 8; 1024 bytes from one eight of them to the next.
  return (1ull << 62) | (64ull << 32) | (1ull << 16) | ((BlockAddress(at) & 0x3ffff) >> 4);
}
template <int kPending>
__device__ __forceinline__ void WaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(kPending) : "memory");
}
__device__ __forceinline__ void AwaitInputs() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
template <class T>
__device__ __forceinline__ const T* NewlyWritten(const T* at) {
  unsigned long long address = __cvta_generic_to_global(at);
  asm volatile("" : "+l"(address) :: "memory");
  return (const T*)__cvta_global_to_generic(address);
}
__device__ __forceinline__ void MbarrierInit(void* at, int arrivals) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(BlockAddress(at)), "r"(arrivals) : "memory");
  }
}
__device__ __forceinline__ void MbarriersBegin() {
  if (threadIdx.x == 0) {
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;"
                 ::: "memory");
  }
  __syncthreads();
}
__device__ __forceinline__ void MbarrierArrive(void* at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(BlockAddress(at)) : "memory");
}
__device__ __forceinline__ void MbarrierArriveExpect(void* at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(BlockAddress(at)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void MbarrierWait(void* at, int parity) {
  asm volatile("{.reg .pred Done, Late; .reg .u64 Begin, Now;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 Done, [%0], %1;\n"
               "@Done bra Over;\n"
               "mov.u64 Begin, %%clock64;\n"
               "Again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 Done, [%0], %1;\n"
               "@Done bra Over;\n"
               "mov.u64 Now, %%clock64;\n"
               "sub.u64 Now, Now, Begin;\n"
               "setp.gt.u64 Late, Now, 17179869184;\n"
               "@Late trap;\n"
               "bra Again;\n"
               "Over:\n}"
               :: "r"(BlockAddress(at)), "r"(parity) : "memory");
}
__device__ __forceinline__ void CopyBulk(void* to, const void* from, int bytes, void* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1], %2, [%3];"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                  "r"(BlockAddress(barrier)) : "memory");
}
struct alignas(64) TensorMap {
  unsigned long long words[16];
};
__device__ __forceinline__ void CopyTensor(void* to, const TensorMap* map, int k, int row, void* barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(BlockAddress(barrier))
               : "memory");
}
__device__ __forceinline__ void PrefetchTensorMap(const TensorMap* map) {
  if (threadIdx.x == 0) asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}
__device__ __forceinline__ void StoreF32x4(float* to, const float* from) { *(float4*)to = make_float4(from[0], from[1], from[2], from[3]); }
__device__ __forceinline__ void WarpgroupMmaBF16x16(float* c, const void* a, const void* b) {
  const unsigned long long A = TileDescriptor(a), B = TileDescriptor(b);
  asm volatile("{.reg .pred Add, Set; setp.ne.b32 Add, 1, 0; setp.ne.b32 Set, 0, 0; "
               "wgmma.fence.sync.aligned; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, Add, 1, 1, 0, 0; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %10, %11, Add, 1, 1, 0, 0; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %12, %13, Add, 1, 1, 0, 0; "
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7}, %14, %15, Add, 1, 1, 0, 0; "
               "wgmma.commit_group.sync.aligned;}"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]),
                 "+f"(c[6]), "+f"(c[7])
               : "l"(A), "l"(B), "l"(A + 2), "l"(B + 2), "l"(A + 4), "l"(B + 4), "l"(A + 6),
                 "l"(B + 6)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(160, 1)
role_copies_p0(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    float* c,
    unsigned char* Scratch, unsigned char* Counters,
    const __grid_constant__ TensorMap Map0) {
  extern __shared__ __align__(1024) unsigned char SharedMemory[];
  unsigned short* const a_tiles = (unsigned short*)(SharedMemory + 0);
  unsigned short* const b_tiles = (unsigned short*)(SharedMemory + 16384);
  long long* const full = (long long*)(SharedMemory + 20480);
  long long* const empty = (long long*)(SharedMemory + 20608);
  float sum[8];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  PrefetchTensorMap(&Map0);
  MbarrierInit(&full[0], 1);
  MbarrierInit(&empty[0], 128);
  MbarrierInit(&full[1], 1);
  MbarrierInit(&empty[1], 128);
  MbarriersBegin();
  AwaitInputs();
  a = NewlyWritten(a);
  b = NewlyWritten(b);
  if (__shfl_sync(0xffffffffu, (int)(thread_index < 128), 0) != 0) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      sum[4 * i] = 0.0f;
      sum[4 * i + 1] = 0.0f;
      sum[4 * i + 2] = 0.0f;
      sum[4 * i + 3] = 0.0f;
    }
    #pragma unroll 1
    for (int round = 0; round < 4; ++round) {
      const int stage = (int)((unsigned)round % 2u);
      MbarrierWait(&full[stage], (int)((unsigned)(int)((unsigned)round / 2u) % 2u));
      WarpgroupMmaBF16x16(&sum[0], &a_tiles[stage * 4096], &b_tiles[stage * 1024]);
      WaitProducts<0>();
      asm volatile("" : "+f"(sum[0]) :: "memory");
      asm volatile("" : "+f"(sum[1]) :: "memory");
      asm volatile("" : "+f"(sum[2]) :: "memory");
      asm volatile("" : "+f"(sum[3]) :: "memory");
      asm volatile("" : "+f"(sum[4]) :: "memory");
      asm volatile("" : "+f"(sum[5]) :: "memory");
      asm volatile("" : "+f"(sum[6]) :: "memory");
      asm volatile("" : "+f"(sum[7]) :: "memory");
      MbarrierArrive(&empty[stage]);
    }
    #pragma unroll
    for (int i_1 = 0; i_1 < 2; ++i_1) {
      StoreF32x4(&c[((int)((unsigned)thread_index / 32u) * 16 + (int)((unsigned)(int)((unsigned)thread_index % 32u) / 4u)) * 16 + i_1 * 8], (sum + 4 * i_1));
    }
  } else {
    if (thread_index == 128) {
      #pragma unroll 1
      for (int round_1 = 0; round_1 < 4; ++round_1) {
        const int stage_1 = (int)((unsigned)round_1 % 2u);
        MbarrierWait(&empty[stage_1], (int)((unsigned)((int)((unsigned)round_1 / 2u) + 1) % 2u));
        MbarrierArriveExpect(&full[stage_1], 10240);
        CopyTensor(&a_tiles[stage_1 * 4096], &Map0, (int)(round_1 * 64), (int)0, &full[stage_1]);
        CopyBulk(&b_tiles[stage_1 * 1024], &b[round_1 * 1024], 2048, &full[stage_1]);
      }
    }
  }
}
