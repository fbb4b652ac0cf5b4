// canonicalize_matmul: products with one weight matrix have rank 2. Before: attention is
// recognised. After: [..., M, K] x [K, N] is [M', K] x [K, N] between reshapes, and reshapes have
// sunk below the pointwise operators and layer norms that follow, as far as the lower rank allows,
// so that a product and its epilogue share one index space; rows of a product that are swapped back
// after it are not swapped (swap_rows.h); layer norms of the last dimension have rank 2 everywhere,
// so that equal ones are one workload. The pass terminates, because reshapes and swaps only move
// down and ranks only fall.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> CanonicalizeMatMul(Graph& graph);

}  // namespace mlc::graph
