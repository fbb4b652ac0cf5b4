// narrow: removes computation of elements that are never read. A slice that is the only reader of a
// value moves up to where it cuts work: of a sequence of which the first row is used in the end,
// the last attention, its products and norms are computed for that row alone. Before: attention and
// norms are single nodes, products with one matrix have rank 2. After: each value is the smallest
// box around what its readers read, as far as its operator can compute boxes (region.h). A slice
// never comes between a contraction and the pointwise work on its result.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> Narrow(Graph& graph);

}  // namespace mlc::graph
