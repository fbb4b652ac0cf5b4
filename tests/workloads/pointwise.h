// Random arithmetic, scans and scatters.
#pragma once

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// Floats with broadcast operands; one output or two.
RandomWorkload RandomChain(Rng& rng);
RandomWorkload RandomIntegers(Rng& rng);
// Rows in multiples of 16, of narrow types, too.
RandomWorkload RandomWideVectors(Rng& rng);
RandomWorkload RandomScanOrScatter(Rng& rng);
// Places of what is true, or boxes that overlap no better one.
RandomWorkload RandomSelection(Rng& rng);

}  // namespace mlc::schedule
