// Products of float8 values: a matmul whose operands are f8e4m3fn or f8e5m2, which may be mixed,
// gives f32. Pure functions.
//
// With four operands it is one of scaled blocks: x[M,K] and w[K,N] are multiplied by their scales
// first, which are f32. Those of x, [M, K/block], hold for `block` elements of a row each; those of
// w, [K/block, N/across], for as many rows of `across` columns. Quotients are rounded up.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

bool IsProductOfFloat8(const Graph& graph, const Value& node);
bool IsProductOfBlocks(const Value& node);

}  // namespace mlc::graph
