// Copies that arrive at mbarriers; of arch sm_90a alone.
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

const std::vector<DeviceFunction>& AsyncDeviceFunctions() {
  static const auto* const rows = new std::vector<DeviceFunction>{
      {"MbarrierInit", {"BlockAddress"}, {R"(void MbarrierInit(void* at, int arrivals) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(BlockAddress(at)), "r"(arrivals) : "memory");
  }
})"}},
      // After the last of a run of MbarrierInit.
      {"MbarriersBegin", {}, {R"(void MbarriersBegin() {
  if (threadIdx.x == 0) {
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;"
                 ::: "memory");
  }
  __syncthreads();
})"}},
      {"MbarrierArrive", {"BlockAddress"}, {R"(void MbarrierArrive(void* at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(BlockAddress(at)) : "memory");
})"}},
      // What another block may overwrite after it are tiles that products have read: these reads
      // have ended, and no store has to become visible. So the scope of the block is enough.
      {"MbarrierArriveAt", {"PeerAddress"}, {R"(void MbarrierArriveAt(void* at, int rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];"
               :: "r"(PeerAddress(at, rank)) : "memory");
})"}},
      {"MbarrierArriveExpect",
       {"BlockAddress"},
       {R"(void MbarrierArriveExpect(void* at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(BlockAddress(at)), "r"(bytes) : "memory");
})"}},
      // Each try sleeps for a while in hardware. After 2^34 clocks, some ten seconds, the kernel
      // traps: no wait hangs the device. A loop in C++ would be a path that warps take apart, along
      // which the assembler lets no products overlap.
      {"MbarrierWait", {"BlockAddress"}, {R"(void MbarrierWait(void* at, int parity) {
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
})"}},
      {"CopyBulk",
       {"BlockAddress"},
       {R"(void CopyBulk(void* to, const void* from, int bytes, void* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1], %2, [%3];"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                  "r"(BlockAddress(barrier)) : "memory");
})"}},
      {"CopyTensor",
       {"BlockAddress"},
       {R"(void CopyTensor(void* to, const void* map, int k, int row, void* barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(BlockAddress(barrier))
               : "memory");
})"}},
      {"CopyBulkToRanks",
       {"BlockAddress"},
       {R"(void CopyBulkToRanks(void* to, const void* from, int bytes, void* barrier, int ranks) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1], %2, [%3], %4;"
               :: "r"(BlockAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                  "r"(BlockAddress(barrier)), "h"((unsigned short)ranks) : "memory");
})"}},
      {"CopyTensorToRanks",
       {"BlockAddress"},
       {R"(void CopyTensorToRanks(void* to, const void* map, int k, int row, void* barrier,
                                  int ranks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(BlockAddress(barrier)),
                  "h"((unsigned short)ranks) : "memory");
})"}},
      // Of a matrix of rows of 128 bytes, swizzled; zeros outside. By a warp, through shared
      // memory.
      {"MakeTensorMap", {"BlockAddress"}, {R"(template <int kType>
__device__ __forceinline__ void MakeTensorMap(void* shared, void* to, const void* from, int depth,
                                              int rows, long long pitch, int box_depth, int box) {
  const unsigned map = BlockAddress(shared);
  __syncwarp();
  ((volatile unsigned*)shared)[threadIdx.x % 32] = 0;
  __syncwarp();
#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 5
  pitch /= 16;  // what its assembler takes
#endif
  if (threadIdx.x % 32 == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;\n"
                 "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 1;\n"
                 "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %2;\n"
                 "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %3;\n"
                 "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %4;\n"
                 "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %5;\n"
                 "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %6;"
                 :: "r"(map), "l"(__cvta_generic_to_global(from)), "r"(box_depth), "r"(box),
                    "r"(depth), "r"(rows), "l"(pitch) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 0, %1;\n"
                 "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 1, %1;\n"
                 "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], %2;\n"
                 "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%0], 0;\n"
                 "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 3;\n"
                 "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;"
                 :: "r"(map), "r"(1), "n"(kType) : "memory");
  }
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
               ".sync.aligned [%0], [%1], 128;"
               :: "l"(__cvta_generic_to_global(to)), "r"(map) : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
               :: "l"(to) : "memory");
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
