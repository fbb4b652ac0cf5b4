// merge_siblings: products of one value with several constant matrices become one product with the
// matrices side by side, sliced afterwards: query, key and value projections run as one. Before:
// products have rank 2 and are free of common subexpressions. After: no two such products remain;
// a constant bias that each of them had alone is merged with them. Copies the matrices, so it runs
// after everything that changes weights.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> MergeSiblings(Graph& graph);

}  // namespace mlc::graph
