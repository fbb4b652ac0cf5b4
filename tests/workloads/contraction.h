// Random contraction workloads of small size: shapes, strides, padding, groups, epilogues, types.
#pragma once

#include "base/rng.h"
#include "compiler/graph/workload.h"

namespace mlc::schedule {

// A convolution (one to three spatial axes) or a matrix product, with a random epilogue.
graph::Workload RandomContraction(Rng& rng);
// One tap, rows and a depth of some hundred: large enough for passes over k, staged rows and panels
// that are fetched ahead.
graph::Workload RandomDeepContraction(Rng& rng);
// A product with columns of 2, 4 or 8 bits, in blocks of any size that bytes allow.
graph::Workload RandomPackedProduct(Rng& rng);
// A product of u8 and i8, or a convolution, whose sums are quantised again or not.
graph::Workload RandomByteProduct(Rng& rng);
// A depthwise convolution: one filter for each channel.
graph::Workload RandomDepthwise(Rng& rng);
// A depthwise convolution of u8 and i8 over one to three axes, whose sums are quantised again or
// not.
graph::Workload RandomByteFilters(Rng& rng);
// A convolution whose groups of 2 to 16 channels have as many outputs.
graph::Workload RandomNarrowGroups(Rng& rng);
// A 3x3 convolution of stride 1 that tolerates a Winograd algorithm.
graph::Workload RandomWinograd(Rng& rng);

}  // namespace mlc::schedule
