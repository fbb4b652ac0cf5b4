// Random maximum and average pooling.
#pragma once

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// One to three spatial axes, any layout; every window has a tap inside.
RandomWorkload RandomPool(Rng& rng);

}  // namespace mlc::schedule
