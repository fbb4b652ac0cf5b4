#include "compiler/target/calibration.h"

#include <array>
#include <cstddef>

namespace mlc::target {

namespace {

// Measured on an AVX-512 core: tiles of contractions; some thousand convolution kernels; tiles of
// depthwise convolutions.
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
                                    .winograd = {.chains = 24,
                                                 .few_chains = 0.5,
                                                 .loads = 0.5,
                                                 .more_loads = 0.15,
                                                 .flops = 64,
                                                 .l2_bytes = 60,
                                                 .l3_bytes = 10},
                                    .depthwise = {.chains = 20,
                                                  .overlap = 8,
                                                  .spilled_chains = 32,
                                                  .spilling = 1,
                                                  .more_reads = 0,
                                                  .group_chains = 15,
                                                  .group_overlap = 8,
                                                  .group_pixels = 16,
                                                  .chunk = 0.005,
                                                  .channel_split = 0.1},
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

// 16 registers hold fewer sums. The figures of depthwise tiles are measured on an AVX2 core.
constexpr CpuCalibration WithSixteenRegisters(CpuCalibration calibration) {
  calibration.tile.chains = 10;
  calibration.depthwise.chains = 12;
  calibration.depthwise.overlap = 4;
  calibration.depthwise.spilled_chains = 9;
  calibration.depthwise.spilling = 0.7;
  calibration.depthwise.more_reads = 0.1;
  return calibration;
}
constexpr CpuCalibration kSixteenRegisters = WithSixteenRegisters(kAvx512);

// By Isa. Nothing was measured on a core with NEON: it has the registers of AVX-512.
constexpr std::array<CpuCalibration, 5> kRows = {kSixteenRegisters, kSixteenRegisters, kAvx512,
                                                 kAvx512, kAvx512};

// Measured on a GPU of compute capability 9.0, but for the peaks that stand for unknown ones: a
// clock of 1.7 GHz, 128 fused multiply-adds and 1024 on matrix units a cycle.
constexpr GpuCalibration kGpu = {.analytic = {.fma = 435,
                                              .tensor = 3480,
                                              .copy_gbps = 2000,
                                              .tensor_share = 0.47,
                                              .shared_memory_bytes = 125,
                                              .l2_bytes = 100,
                                              .l2_total_bytes = 13000,
                                              .near_data = 0.5,
                                              .near_speed = 1.5,
                                              .half_warps = 0.75,
                                              .copy_warps = 8,
                                              .step_ns = 45,
                                              .launch_ns = 1800,
                                              .next_launch_ns = 900,
                                              .overlap = 0.12,
                                              .cycle_flops = 4096,
                                              .busy_clock = 0.88,
                                              .busy_ghz = 1.7},
                                 .tensor = {.mma_flops = 2500,
                                            .warpgroup_flops = 3700,
                                            .shared_memory_bytes = 128,
                                            .l2_bytes = 48,
                                            .step_latency = 90,
                                            .memory_latency = 750,
                                            .arrive_latency = 1800,
                                            .cluster_latency = 1600},
                                 .roles = {.flops = 3700,
                                           .l2_bytes = 56,
                                           .distinct_byte = 1e-4,
                                           .step_latency = 22,
                                           .lone_step = 95,
                                           .memory_latency = 1800,
                                           .start = 500,
                                           .pair = 1400,
                                           .end = 400,
                                           .outputs = 4,
                                           .narrow_outputs = 15,
                                           .filled_outputs = 33,
                                           .carried_outputs = 13,
                                           .guest_outputs = 7,
                                           .guest_columns = 640,
                                           .warp_flops = 25},
                                 .simt = {.fma = 128,
                                          .enough_warps = 8,
                                          .tile_share = 0.5,
                                          .tile = 64,
                                          .least_busy = 0.05,
                                          .shared_reads = 32,
                                          .copies = 128,
                                          .copy_work = 6,
                                          .checked_copy_work = 12,
                                          .overlap = 0.7,
                                          .step_latency = 120,
                                          .row_latency = 6,
                                          .start = 1500,
                                          .end = 600,
                                          .outputs = 10,
                                          .arrive_latency = 1800,
                                          .cluster_latency = 1600,
                                          .merged_outputs = 12},
                                 .skinny = {.bytes = 24,
                                            .memory_latency = 700,
                                            .row_work = 1.2,
                                            .start = 700,
                                            .row_start = 8,
                                            .end = 250,
                                            .output_end = 30,
                                            .arrive_latency = 1800,
                                            .cluster_latency = 1600,
                                            .head_start = 5600,
                                            .beside = 1000},
                                 .few_bits = {.bytes = 18,
                                              .memory_latency = 600,
                                              .group_latency = 75,
                                              .fragment_work = 36,
                                              .row_work = 3,
                                              .fragment_latency = 32,
                                              .row_latency = 100,
                                              .overlap = 0.15,
                                              .start = 900,
                                              .row_start = 80,
                                              .norm_start = 250,
                                              .norm_row = 30,
                                              .end = 400,
                                              .next_block = 0.35,
                                              .arrive_latency = 2800,
                                              .cluster_latency = 1600},
                                 .attention = {.mma = 256,
                                               .mma_f32 = 128,
                                               .exponentials = 4,
                                               .exponential_work = 2,
                                               .l2_bytes = 48,
                                               .start = 1200,
                                               .step_latency = 120,
                                               .merge = 500,
                                               .cluster_merge = 2000},
                                 .role_attention = {.flops = 4000,
                                                    .exponentials = 10,
                                                    .masked = 1.6,
                                                    .overlap = 0.4,
                                                    .ordered = 0.22,
                                                    .turn_latency = 80,
                                                    .step_latency = 150,
                                                    .start = 1400,
                                                    .tile_end = 700,
                                                    .late_queries = 1300}};

}  // namespace

const CpuCalibration& CalibrationOf(const CpuTarget& cpu) {
  return kRows[static_cast<size_t>(cpu.isa)];
}

const GpuCalibration& CalibrationOf(const GpuTarget&) { return kGpu; }

}  // namespace mlc::target
