// Operators that are loops over pointwise values on a GPU. A cumulative sum takes a thread per
// line; the index of an extremum a warp per line where values are 32 bits wide; a scatter copies
// its data in one launch and applies the updates in a second, where updates that may meet belong to
// one thread, in order. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/pointwise/pointwise_pieces.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

// REQUIRES FindScan(workload) == scan.
LoweredKernel LowerScan(const graph::Workload& workload, graph::ValueId scan,
                        const PieceKnobs& knobs);

}  // namespace mlc::schedule::gpu
