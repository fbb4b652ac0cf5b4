// fold_constants: nodes whose operands are all known become constants. Before: any graph. After: no
// foldable node reads constants only. Splats stay splats whatever their shape, reshapes share
// bytes. What a view of weights can say (transposes, slices forwards) stays a node above 1 MiB,
// since the view is cheaper than a copy, and so does what repeats elements; other nodes are folded
// through such views. Results above 64 MiB stay nodes. First in the list: shape arithmetic must be
// gone before anything else looks at the graph.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> FoldConstants(Graph& graph);

// The constant that `node` (not in the graph yet; its type is known) computes, added to the graph.
// Null if it is not to be folded, or its evaluation fails: then running it tells why.
std::optional<ValueId> TryFold(Graph& graph, const Value& node);

}  // namespace mlc::graph
