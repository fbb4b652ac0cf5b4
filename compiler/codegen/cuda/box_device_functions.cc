// Tensor copies of boxes of more than two dimensions; of arch sm_90a alone.
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

const std::vector<DeviceFunction>& BoxDeviceFunctions() {
  static const auto* const rows = new std::vector<DeviceFunction>{
      {"CopyBox3",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyBox3(void* to, const TensorMap* map, int k, int row, int a,
              void* barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(a),
                  "r"(BlockAddress(barrier)) : "memory");
})"}},
      {"CopyBox3ToRanks",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyBox3ToRanks(void* to, const TensorMap* map, int k, int row, int a,
                     void* barrier, int ranks) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3, %4}], [%5], %6;"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(a),
                  "r"(BlockAddress(barrier)), "h"((unsigned short)ranks) : "memory");
})"}},
      {"CopyBox4",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyBox4(void* to, const TensorMap* map, int k, int row, int a, int b,
              void* barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5}], [%6];"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(a), "r"(b),
                  "r"(BlockAddress(barrier)) : "memory");
})"}},
      {"CopyBox4ToRanks",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyBox4ToRanks(void* to, const TensorMap* map, int k, int row, int a, int b,
                     void* barrier, int ranks) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(a), "r"(b),
                  "r"(BlockAddress(barrier)), "h"((unsigned short)ranks) : "memory");
})"}},
      {"CopyBox5",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyBox5(void* to, const TensorMap* map, int k, int row, int a, int b, int c,
              void* barrier) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(a), "r"(b), "r"(c),
                  "r"(BlockAddress(barrier)) : "memory");
})"}},
      {"CopyBox5ToRanks",
       {"BlockAddress", "TensorMap"},
       {R"(void CopyBox5ToRanks(void* to, const TensorMap* map, int k, int row, int a, int b, int c,
                     void* barrier, int ranks) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;"
               :: "r"(BlockAddress(to)), "l"(map), "r"(k), "r"(row), "r"(a), "r"(b), "r"(c),
                  "r"(BlockAddress(barrier)), "h"((unsigned short)ranks) : "memory");
})"}},
  };
  return *rows;
}

}  // namespace mlc::codegen
