// Operators that are loops over pointwise values, on a GPU. A cumulative sum uses one thread per
// line. The index of an extremum uses one warp per line if values are 32 bits wide. A scatter
// copies its data in one launch and applies the updates in a second one, which also computes
// pointwise results that have nothing to do with it; updates of the same element belong to one
// thread, in order. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/pointwise/pointwise_pieces.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

// The scanned node; kNoValue if the workload is of another kind: see FindScan of the family for
// CPUs. Beside a scatter there may be pointwise results.
graph::ValueId FindScanOnGpu(const graph::Workload& workload);
// REQUIRES FindScanOnGpu(workload) == scan.
LoweredKernel LowerScan(const graph::Workload& workload, graph::ValueId scan,
                        const PieceKnobs& knobs);

}  // namespace mlc::schedule::gpu
