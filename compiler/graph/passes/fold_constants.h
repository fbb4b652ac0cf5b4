// fold_constants: nodes whose operands are all known become constants. Before: any graph. After: no
// foldable node reads only constants. Splats stay splats whatever their shape, and reshapes share
// bytes. Views of weights above 1 MiB (transposes, slices forwards) stay nodes, because a view is
// cheaper than a copy; so do nodes that repeat elements. Other nodes are folded through such views.
// Results above 64 MiB stay nodes. First in the list, because shape arithmetic must be gone before
// other passes.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> FoldConstants(Graph& graph);

// The constant that `node` (not in the graph yet; its type is known) computes, added to the graph.
// Empty if it is not to be folded, or if its evaluation fails; running the node then reports the
// error.
std::optional<ValueId> TryFold(Graph& graph, const Value& node);

}  // namespace mlc::graph
