// What threads do together, and with the memory system.
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

const std::vector<DeviceFunction>& WarpDeviceFunctions() {
  static const auto* const rows = new std::vector<DeviceFunction>{
      // ---- warps
      {"BlockAddress",
       {},
       {"unsigned BlockAddress(const void* at) { return (unsigned)__cvta_generic_to_shared(at); "
        "}"}},
      {"CopyAsync4", {"BlockAddress"}, {R"(void CopyAsync4(void* to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
})"}},
      {"CopyAsync8", {"BlockAddress"}, {R"(void CopyAsync8(void* to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
})"}},
      {"CopyAsync16",
       {"BlockAddress"},
       {R"(void CopyAsync16(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
})"}},
      {"CommitCopies",
       {},
       {R"(void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); })"}},
      {"WaitCopies", {}, {R"(template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" :: "n"(kPending) : "memory");
})"}},
      {"LoadMatrix1", {"BlockAddress"}, {R"(void LoadMatrix1(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(to[0]) : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrix2", {"BlockAddress"}, {R"(void LoadMatrix2(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1]) : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrix4", {"BlockAddress"}, {R"(void LoadMatrix4(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrixF32x1", {"BlockAddress"}, {R"(void LoadMatrixF32x1(float* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=f"(to[0]) : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrixF32x2", {"BlockAddress"}, {R"(void LoadMatrixF32x2(float* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=f"(to[0]), "=f"(to[1]) : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrixF32x4", {"BlockAddress"}, {R"(void LoadMatrixF32x4(float* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrixTransposed1",
       {"BlockAddress"},
       {R"(void LoadMatrixTransposed1(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(to[0]) : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrixTransposed2",
       {"BlockAddress"},
       {R"(void LoadMatrixTransposed2(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1]) : "r"(BlockAddress(row)) : "memory");
})"}},
      {"LoadMatrixTransposed4",
       {"BlockAddress"},
       {R"(void LoadMatrixTransposed4(unsigned* to, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(BlockAddress(row)) : "memory");
})"}},
      {"MmaF16", {}, {R"(void MmaF16(float* c, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"}},
      {"MmaBF16", {}, {R"(void MmaBF16(float* c, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"}},
      {"MmaU8I8", {}, {R"(void MmaU8I8(int* c, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"}},
      {"FenceTiles",
       {},
       {R"(void FenceTiles() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); })"}},
      {"TileDescriptor", {"BlockAddress"}, {R"(unsigned long long TileDescriptor(const void* at) {
  // Rows of 128 bytes, swizzled by 8; 1024 bytes from one eight of them to the next.
  return (1ull << 62) | (64ull << 32) | (1ull << 16) | ((BlockAddress(at) & 0x3ffff) >> 4);
})"}},
      {"WaitProducts", {}, {R"(template <int kPending>
__device__ __forceinline__ void WaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(kPending) : "memory");
})"}},
      {"MmaTf32", {}, {R"(void MmaTf32(float* c, const float* a, const float* b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                 "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
                 "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
})"}},
      // ---- blocks and launches
      {"ArriveLast", {}, {R"(bool ArriveLast(int* counter, int of) {
  __threadfence();
  __syncthreads();
  int last = 0;
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1) == of - 1;
    if (last) *counter = 0;
  }
  last = __syncthreads_or(last);
  __threadfence();
  return last != 0;
})"}},
      {"ClusterBarrier", {}, {R"(void ClusterBarrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;"
               ::: "memory");
})"}},
      {"PeerAddress", {"BlockAddress"}, {R"(unsigned PeerAddress(const void* at, int rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(BlockAddress(at)), "r"(rank));
  return address;
})"}},
      {"LoadPeer1", {"PeerAddress"}, {R"(void LoadPeer1(float* to, const float* from, int rank) {
  asm volatile("ld.shared::cluster.f32 %0, [%1];"
               : "=f"(to[0]) : "r"(PeerAddress(from, rank)));
})"}},
      {"LoadPeer2", {"PeerAddress"}, {R"(void LoadPeer2(float* to, const float* from, int rank) {
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
               : "=f"(to[0]), "=f"(to[1]) : "r"(PeerAddress(from, rank)));
})"}},
      {"LoadPeer4", {"PeerAddress"}, {R"(void LoadPeer4(float* to, const float* from, int rank) {
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(PeerAddress(from, rank)));
})"}},
      {"AwaitInputs",
       {},
       {R"(void AwaitInputs() { asm volatile("griddepcontrol.wait;" ::: "memory"); })"}},
      {"NewlyWritten", {}, {R"(template <class T>
__device__ __forceinline__ const T* NewlyWritten(const T* at) {
  unsigned long long address = __cvta_generic_to_global(at);
  asm volatile("" : "+l"(address) :: "memory");
  return (const T*)__cvta_global_to_generic(address);
})"}},
      {"ReleaseDependents",
       {},
       {R"(void ReleaseDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); })"}},
      {"PrefetchL1", {}, {R"(void PrefetchL1(const void* at) {
  asm volatile("prefetch.global.L1 [%0];" :: "l"(__cvta_generic_to_global(at)));
})"}},
      {"PrefetchL2", {}, {R"(void PrefetchL2(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" :: "l"(__cvta_generic_to_global(at)));
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
