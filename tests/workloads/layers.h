// Random layers of the sizes that networks have, too large to be executed by the interpreter: for
// tests of what families say of them.
#pragma once

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// A convolution (dense, grouped or depthwise; one to three spatial axes), a matrix product, rows of
// softmax or layer norm, a pool, attention, or a transpose with arithmetic.
RandomWorkload RandomLayer(Rng& rng);

}  // namespace mlc::schedule
