// Coefficients of default configs and of the analytic model on GPUs: see calibration.h. Values;
// thread-safe.
#pragma once

#include "compiler/target/gpu_few_rows_calibration.h"

namespace mlc::target {

// The analytic model of kernels on GPUs. Rates are of one multiprocessor, per nanosecond, unless
// they say otherwise.
struct GpuAnalyticCalibration {
  // If the target's peaks are not measured:
  double fma;        // floating-point operations
  double tensor;     // of matrix units, 2-byte types, mma.sync
  double copy_gbps;  // of the device
  // Share of the measured matrix peak, which large products reach with other instructions.
  double tensor_share;
  double shared_memory_bytes;
  double l2_bytes;        // into one multiprocessor
  double l2_total_bytes;  // into all of them
  double near_data;       // share of the L2 cache that keeps data
  double near_speed;      // speed of such data over that of memory
  double half_warps;      // warps of one multiprocessor for half of its rate
  double copy_warps;      // warps of one multiprocessor for the full rate of memory
  double step_ns;         // one step of a staged loop without overlap
  double launch_ns;       // the first launch
  double next_launch_ns;  // each further launch
  double overlap;         // share of the shorter parts that the longest does not hide
  // For families that count cycles:
  double cycle_flops;  // of matrix units, 2-byte types, per cycle of the highest clock,
  double busy_clock;   // the share of that clock under load,
  double busy_ghz;     // and the clock where none is known
};

// One multiprocessor, in clock cycles, for the choice of the default config of a product on matrix
// units.
struct GpuTensorCalibration {
  double mma_flops;        // of mma.sync on 2-byte types, per cycle
  double warpgroup_flops;  // of wgmma, likewise
  double shared_memory_bytes;
  double l2_bytes;
  double step_latency;     // barrier and first fragments of a step
  double memory_latency;   // of a copy to shared memory
  double arrive_latency;   // of the blocks that share a tile, at a counter
  double cluster_latency;  // two barriers of a cluster, a read of another block
};

// The same for a product without matrix units.
struct GpuSimtCalibration {
  double fma;                // fused multiply-adds per cycle,
  double enough_warps;       // warps that keep the units busy
  double tile_share;         // of it, whatever the tile of a thread;
  double tile;               // sums of a thread that add the whole to this share
  double least_busy;         // of it
  double shared_reads;       // of 4 bytes, per cycle, as instructions of a warp
  double copies;             // instructions per cycle
  double copy_work;          // instructions of one element's copy,
  double checked_copy_work;  // with checks of bounds
  double overlap;            // share of the multiply-adds that hides no copies
  double step_latency;       // barrier of a step,
  double row_latency;        // and of each of its rows
  double start;              // of the kernel
  double end;                // of a round of blocks,
  double outputs;            // and outputs per cycle
  double arrive_latency;     // as in GpuTensorCalibration
  double cluster_latency;
  double merged_outputs;  // per cycle, of parts of k
};

// The same for attention: one block that has its share of a multiprocessor.
struct GpuAttentionCalibration {
  double mma;               // products of 16 bits per cycle, of a quarter of a multiprocessor,
  double mma_f32;           // and of one pass of 32 bits
  double exponentials;      // per cycle, likewise
  double exponential_work;  // instructions of one
  double l2_bytes;
  double start;
  double step_latency;
  double merge;          // of the warps that share a row,
  double cluster_merge;  // and of the blocks
};

// The same for a product of warps with roles, which runs on each multiprocessor until no tile is
// left.
struct GpuRoleCalibration {
  double flops;  // of wgmma on 2-byte types, per cycle
  double l2_bytes;
  double distinct_byte;    // of a step, for each byte that no two blocks share in it
  double step_latency;     // two barriers of a step,
  double lone_step;        // and a product that nothing overlaps
  double memory_latency;   // of a copy to shared memory
  double start;            // the first copies, the last stores
  double pair;             // what a pair of blocks waits for each other
  double end;              // of a tile,
  double outputs;          // and outputs per cycle,
  double narrow_outputs;   // of two bytes, which go through shared memory as such;
  double filled_outputs;   // those that warps leave there alone,
  double carried_outputs;  // and that other warps carry from there;
  double guest_outputs;    // those with another tensor's values, which are brought before,
  double guest_columns;    // at half of this rate in a tile so wide: short rows come sooner
  double warp_flops;       // of a warp that computes what follows the product
};

// The same for attention of warps with roles.
struct GpuRoleAttentionCalibration {
  double flops;         // of products, per cycle
  double exponentials;  // with what else a weight takes, per cycle
  double masked;        // times as long where numbers are added to scores
  double overlap;       // what remains of the shorter of both where groups fill each other's gaps
  double ordered;       // the same where weights take longer and groups take turns,
  double turn_latency;  // and of each turn
  double step_latency;  // of a tile of keys: barriers and reductions
  double start;         // the first copies, the last stores
  double tile_end;      // of a tile of queries: its first scores, its results,
  double late_queries;  // and its copies, where they wait for the tile before
};

struct GpuCalibration {
  GpuAnalyticCalibration analytic;
  GpuTensorCalibration tensor;
  GpuRoleCalibration roles;
  GpuSimtCalibration simt;
  GpuSkinnyCalibration skinny;
  GpuFewBitsCalibration few_bits;
  GpuAttentionCalibration attention;
  GpuRoleAttentionCalibration role_attention;
};

}  // namespace mlc::target
