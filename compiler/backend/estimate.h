// The analytic model: the time of a kernel from the facts of its family, one function for each kind
// of device. Pure; thread-safe.
#pragma once

#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::backend {

// Nanoseconds of one execution. The parts overlap; they do not add up to the total.
struct Estimate {
  double compute_ns = 0;
  double l1_ns = 0;
  double l2_ns = 0;
  double l3_ns = 0;
  double dram_ns = 0;
  double overhead_ns = 0;  // fork-join rounds and chunks
  double total_ns = 0;
};

// REQUIRES: a CPU.
Estimate EstimateOnCpu(const schedule::KernelFacts& facts, const target::Target& target);
// In the parts, l1 stands for the on-chip memory of blocks, l2 for the L2 cache, compute for the
// arithmetic and matrix units together; l3 is unused. REQUIRES: a GPU.
Estimate EstimateOnGpu(const schedule::KernelFacts& facts, const target::Target& target);

}  // namespace mlc::backend
