#include "compiler/target/calibration.h"

#include <array>
#include <cstddef>

namespace mlc::target {

namespace {

// Measured on an AVX-512 core: tiles of contractions; some thousand convolution kernels.
constexpr CpuCalibration kAvx512 = {.tile = {.chains = 26,
                                             .few_chains = 0.35,
                                             .loads = 0.55,
                                             .more_loads = 0.12,
                                             .rows = 12,
                                             .fewer_rows = 0.005,
                                             .shared_ways = 2.0 / 3,
                                             .colliding = 0.985,
                                             .many_ways = 1.2,
                                             .waiting = 6,
                                             .inner_rows = 16,
                                             .more_inner_rows = 0.92,
                                             .copied_rows = 0.8},
                                    .split = {.flops = 64, .bytes = 8, .chunk_ns = 500},
                                    .analytic = {.ghz = 2.6,
                                                 .copy_gbps = 10,
                                                 .l1_gbps = 100,
                                                 .l2_gbps = 130,
                                                 .l3_gbps = 40,
                                                 .scratch_gbps = 55,
                                                 .near_overlap = 0.17,
                                                 .far_overlap = 0.27,
                                                 .fork_ns = 5000,
                                                 .chunk_ns = 60,
                                                 .special_ops = 2,
                                                 .body = 0.87,
                                                 .chains = 9.5,
                                                 .few_chains = 0.6,
                                                 .loads = 0.57,
                                                 .more_loads = 0.46,
                                                 .loop = 0.05}};

// 16 registers hold fewer sums.
constexpr CpuCalibration WithChains(CpuCalibration calibration, double chains) {
  calibration.tile.chains = chains;
  return calibration;
}
constexpr CpuCalibration kSixteenRegisters = WithChains(kAvx512, 10);

// By Isa. Nothing was measured on a core with NEON: it has the registers of AVX-512.
constexpr std::array<CpuCalibration, 4> kRows = {kSixteenRegisters, kSixteenRegisters, kAvx512,
                                                 kAvx512};

}  // namespace

const CpuCalibration& CalibrationOf(const CpuTarget& cpu) {
  return kRows[static_cast<size_t>(cpu.isa)];
}

}  // namespace mlc::target
