// fold_scale: batch normalisation disappears into weights. Before: simplified (batch normalisation
// arrives as pointwise multiply and add with one constant per channel). After: a multiplication by
// constants that follows a convolution or matrix product with constant weights is part of the
// weights, also across an addition of constants. Weights above 64 MiB stay as they are. Runs before
// siblings merge, which copies weights.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> FoldScale(Graph& graph);

}  // namespace mlc::graph
