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
      {"TensorMap", {}, {R"(struct alignas(64) TensorMap {
  unsigned long long words[16];
};)"}},
      {"CopyTensor",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyTensor(void* to, const TensorMap* map, int k, int row, void* barrier) {
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
       {"BlockAddress", "TensorMap"},
       {R"(void CopyTensorToRanks(void* to, const TensorMap* map, int k, int row, void* barrier,
                                  int ranks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(BlockAddress(barrier)),
                  "h"((unsigned short)ranks) : "memory");
})"}},
      {"PrefetchTensorMap", {"TensorMap"}, {R"(void PrefetchTensorMap(const TensorMap* map) {
  if (threadIdx.x == 0) asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
