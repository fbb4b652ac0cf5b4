// What a gauge executes, in the kernels' own form. Pure; thread-safe.
//
//   burst  multiply-adds in registers alone: slow when the processors share a core of the host.
//   rows   multiply-adds whose operands are rows a page apart: two more than the ways of a set of
//          the first-level cache hold, as tiles of a network's kernels are. Slow when somebody else
//          runs on the other thread of a core and takes part of that cache; a burst is not.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "compiler/target/target.h"

namespace mlc::worker {

struct GaugeKernel {
  const char* name;
  double flops;        // of one thread
  int64_t floats = 0;  // that one thread reads, in pages of its own
};

GaugeKernel BurstOf(const target::Target& target);
GaugeKernel RowsOf(const target::Target& target);

// An object with both.
Result<std::string> BuildGaugeKernels(const target::Target& target);

}  // namespace mlc::worker
