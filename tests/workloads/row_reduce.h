// Random softmaxes, layer norms and reductions, with prologues and epilogues.
#pragma once

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

RandomWorkload RandomSoftmax(Rng& rng);
RandomWorkload RandomLayerNorm(Rng& rng);
RandomWorkload RandomReduction(Rng& rng);
// Few and long rows, which are cut into parts: along the columns, along the other reduced
// dimensions, with columns kept.
RandomWorkload RandomLongRows(Rng& rng);
// Norms of images of few rows, which are cut into parts, channels innermost or not.
RandomWorkload RandomImageNorms(Rng& rng);
// Softmax of rows of which some are masked altogether.
RandomWorkload RandomMaskedRows(Rng& rng);
// A reduction that blocks of a GPU share.
RandomWorkload RandomSharedReduction(Rng& rng);
// Rows that several warps of a GPU share.
RandomWorkload RandomWideRows(Rng& rng);

}  // namespace mlc::schedule
