// dce: drops what no output needs. Before: any graph. After: every value but the inputs reaches an
// output, and values are in topological order. Last in the list.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> EliminateDeadCode(Graph& graph);

}  // namespace mlc::graph
