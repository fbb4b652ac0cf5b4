// Moves reshapes and transposes below the pointwise nodes that follow them, so that a contraction
// and its bias, activation and residual add stand side by side and can be one task:
//   add(reshape(matmul), residual)  ->  reshape(add(matmul, reshape(residual)))
// Only views of computed values move. The other operands get the inverse view, which is free or
// applies to a constant. Runs before layouts are chosen. Does not change the result of the graph;
// pure.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<Graph> SinkViews(Graph graph);

}  // namespace mlc::graph
