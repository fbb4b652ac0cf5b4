// What a processor costs beyond what its target says: coefficients of default configs and of the
// analytic model, one row for each instruction set. Values; thread-safe.
#pragma once

#include "compiler/target/target.h"

namespace mlc::target {

// Share of peak that a tile of sums in registers reaches when its operands are near. What exceeds
// or lacks a number that suffices takes the share away that stands beside it.
struct TileCalibration {
  double chains;           // independent sums that cover the latency of multiply-adds
  double few_chains;       // of a tile that has none of them; falls with the square of what lacks
  double loads;            // of vectors for each multiply-add, that fit between them
  double more_loads;       // of each more
  double rows;             // that leave time for the lines of a panel in the second cache
  double fewer_rows;       // of each that lacks
  double shared_ways;      // share of a set's ways that rows a multiple of a page apart may fill
  double colliding;        // of a tile that fills more
  double many_ways;        // from here on every step waits for the second cache
  double waiting;          // slower by so much of each
  double inner_rows;       // that the body of the innermost loop may have
  double more_inner_rows;  // of a tile that has more
  double copied_rows;      // of rows copied while few share the copy
};

// Flops and bytes that take one nanosecond when the split of a contraction is chosen.
struct SplitCalibration {
  double flops;
  double bytes;
  double chunk_ns;  // of each chunk of work
};

struct AnalyticCalibration {
  // Of a core whose peaks are not measured: two units for multiply-adds at this clock.
  double ghz;
  double copy_gbps;
  // Bytes that one core moves in a nanosecond.
  double l1_gbps;
  double l2_gbps;
  double l3_gbps;
  double scratch_gbps;
  double near_overlap;  // of the shorter ones among arithmetic, L1 and L2
  double far_overlap;   // of the shorter one of near and far
  double fork_ns;       // one fork-join round
  double chunk_ns;      // one chunk of work
  double special_ops;   // scalar-equivalent cost of a special operation's flop
  double body;          // share of peak of the best body
  double chains;        // to cover the latency of two units
  double few_chains;    // as in TileCalibration
  double loads;
  double more_loads;
  double loop;  // cost of an iteration of the innermost loop, in bodies
};

struct CpuCalibration {
  TileCalibration tile;
  SplitCalibration split;
  AnalyticCalibration analytic;
};

const CpuCalibration& CalibrationOf(const CpuTarget& cpu);

}  // namespace mlc::target
