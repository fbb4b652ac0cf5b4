// The kernels of a machine probe, in kernel IR. Pure; thread-safe.
//
//   burst  multiply-adds in registers alone (FMA probe): slow when CPUs share a core of the host.
//   rows   multiply-adds whose operands are rows a page apart: two more than the ways of a set of
//          the first-level cache hold, as tiles of a network's kernels are (L1 probe). Slow when
//          other code runs on the sibling hyper-thread and takes part of that cache; a burst is
//          not.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "compiler/target/target.h"

namespace mlc::worker {

struct ProbeKernel {
  const char* name;
  double flops;        // operations of one thread
  int64_t floats = 0;  // values that one thread reads, in its own pages
};

ProbeKernel FmaProbeOf(const target::Target& target);
ProbeKernel L1ProbeOf(const target::Target& target);

// Object code of both kernels.
Result<std::string> BuildProbeKernels(const target::Target& target);

}  // namespace mlc::worker
