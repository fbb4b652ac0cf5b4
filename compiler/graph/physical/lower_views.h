// Rewrites transposes, reshapes, slices and expansions to kView: an offset and strides on the
// storage of a computed value, an input or a constant. Chains become one view of the root. If
// strides cannot express a view, or if a convolution needs channels innermost, a kCopy materialises
// the operand first; a constant is copied at compile time. Model outputs that are not row-major, or
// that no kernel writes, end in a kCopy. Runs after layouts are chosen.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

// REQUIRES: ChooseLayouts() has run. Afterwards the graph holds no kTranspose, kReshape or kExpand,
// and every value's type has its final strides in canonical form.
Result<Graph> LowerViews(Graph graph, const PlaceRules& rules = {});

// The value whose storage a value of a lowered graph uses: itself, or a view's operand.
inline ValueId RootOf(const Graph& graph, ValueId value) {
  return graph[value].op == Op::kView ? graph[value].operands[0] : value;
}
inline int64_t OffsetOf(const Graph& graph, ValueId value) {
  return graph[value].op == Op::kView ? graph[value].Int("offset") : 0;
}

}  // namespace mlc::graph
