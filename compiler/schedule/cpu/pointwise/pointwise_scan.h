// Operators that are plain loops over pointwise values: cumulative sum, index of the extremum, and
// scatters. Thread-safe.
#pragma once

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// The scanned node of the workload if all other nodes are pointwise around it; else kNoValue.
graph::ValueId FindScan(const graph::Workload& workload);
// REQUIRES FindScan(workload) == scan.
LoweredKernel LowerScan(const graph::Workload& workload, const target::Target& target,
                        graph::ValueId scan);

}  // namespace mlc::schedule
