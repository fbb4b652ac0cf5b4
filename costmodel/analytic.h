// The analytic model: a kernel's time from what its config implies, without data. Its coefficients
// are measured shares of peak; the search uses it as a draft to be corrected by what it learns, a
// build without a log to choose among configs. Pure functions.
#pragma once

#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// Raised when an estimate changes: the learned models correct estimates.
inline constexpr int kAnalyticVersion = 1;

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

Estimate EstimateKernel(const schedule::KernelFacts& facts, const target::Target& target);

}  // namespace mlc::costmodel
