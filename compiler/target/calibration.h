// Coefficients of default configs and of the analytic model that a target does not contain. CPUs
// have one row for each instruction set; GPUs share one. Values; thread-safe.
#pragma once

#include "compiler/target/gpu_calibration.h"
#include "compiler/target/target.h"

namespace mlc::target {

// Share of peak that a register tile reaches when its operands are in near caches. It is a product
// of penalties: each names a limit and the penalty beyond it.
struct TileCalibration {
  double chains;       // independent sums that cover the latency of a multiply-add
  double few_chains;   // share lost without any; proportional to the square of the lack
  double loads;        // vector loads per multiply-add that cost nothing
  double more_loads;   // share lost for each further one
  double rows;         // rows that hide the loads of a panel from the second-level cache
  double fewer_rows;   // share lost for each missing row
  double shared_ways;  // share of a set's ways that rows a multiple of a page apart can use
  double colliding;    // factor of a tile that uses more
  double many_ways;    // such rows over ways from which each step waits for the second-level cache
  double waiting;      // slowdown for each way beyond
  double inner_rows;   // most rows of the innermost loop's body
  double more_inner_rows;  // factor of a tile that has more
  double copied_rows;      // factor of columns packed at run time for few rows
};

// The cost of the split of a contraction. `flops` and `bytes`: what takes one nanosecond.
struct SplitCalibration {
  double flops;
  double bytes;
  double chunk_ns;  // cost of each chunk of work
};

struct AnalyticCalibration {
  // A core without measured peaks: two multiply-add units at this clock.
  double ghz;
  double copy_gbps;
  // Bytes that one core moves per nanosecond.
  double l1_gbps;
  double l2_gbps;
  double l3_gbps;
  double scratch_gbps;
  double near_overlap;  // overlapped share of the shorter parts of arithmetic, L1 and L2
  double far_overlap;   // overlapped share of the shorter part of near and far
  double fork_ns;       // one fork-join round
  double chunk_ns;      // one chunk of work
  double special_ops;   // scalar-equivalent cost of a special operation's flop
  double body;          // share of peak of the best body
  double chains;        // chains that cover the latency of two units
  double few_chains;    // as in TileCalibration
  double loads;
  double more_loads;
  double loop;  // cost of an iteration of the innermost loop, in bodies
};

// Cost of Winograd convolutions, for the choice of their default config; only the order of costs
// matters.
struct WinogradCalibration {
  double chains;      // as in TileCalibration, but for the whole cost
  double few_chains;  // cost of a tile without any
  double loads;
  double more_loads;
  double flops;     // flops per unit of cost
  double l2_bytes;  // bytes per unit of cost
  double l3_bytes;
};

// Share of its best speed that a tile of a depthwise or grouped convolution reaches: (chains +
// overlap) / sufficient chains, at most 1.
struct DepthwiseCalibration {
  double chains;          // sufficient chains, including the overlap
  double overlap;         // latency that is hidden anyway, in chains
  double spilled_chains;  // chains from which the bounds of an activation
                          // no longer fit into registers
  double spilling;        // factor of a tile with more
  double more_reads;      // slowdown for each input read per output
  double group_chains;    // like `chains`, if groups are wider than one channel
  double group_overlap;
  double group_pixels;   // pixels of an input row that stay in the first-level cache
  double chunk;          // slowdown for each chunk of work
  double channel_split;  // slowdown if channels are cut into chunks
};

struct CpuCalibration {
  TileCalibration tile;
  SplitCalibration split;
  WinogradCalibration winograd;
  DepthwiseCalibration depthwise;
  AnalyticCalibration analytic;
};

const CpuCalibration& CalibrationOf(const CpuTarget& cpu);
const GpuCalibration& CalibrationOf(const GpuTarget& gpu);

}  // namespace mlc::target
