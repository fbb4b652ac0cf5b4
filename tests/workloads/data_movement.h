// Random data movement.
#pragma once

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// With a slice, sometimes backwards.
RandomWorkload RandomTransposes(Rng& rng);
// Two operands of different orders, in sums and chains, of sizes around those of squares.
RandomWorkload RandomTurns(Rng& rng);
// Both transposed dimensions are large enough for tiles of shared memory.
RandomWorkload RandomTransposeThroughTiles(Rng& rng);
RandomWorkload RandomReshapes(Rng& rng);
RandomWorkload RandomConcatPadTileTrilu(Rng& rng);
RandomWorkload RandomGather(Rng& rng);
RandomWorkload RandomResize(Rng& rng);

}  // namespace mlc::schedule
