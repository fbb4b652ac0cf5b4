// gather_rows: rows that concatenations and transposes bring into another order are gathered once.
// Shifted windows (swin) roll an image along two axes, which is two concatenations of slices, and
// cut it into windows; each would be a kernel that writes the whole image. Before: shapes are
// final, products and norms have their canonical forms. Not thread-safe, as Graph.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// True if the graph changed.
Result<bool> GatherRows(Graph& graph);

}  // namespace mlc::graph
