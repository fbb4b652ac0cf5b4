// Attention whose heads of keys and values serve several heads of queries each. Exporters repeat
// such keys and values in memory; here they are read in place. Not thread-safe, as Graph.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// Adds an attention node, whose type need not be set, and gives its result of shape [batch, heads,
// queries, width]. Where keys and values are repeated for groups of heads, the node attends in
// groups: one query of each head of a group makes the rows of a matrix; or, of one batch, a group
// is a batch whose heads share their keys.
ValueId AddAttention(Graph& graph, Value attention);

// select(rows, 0, x), where `x` is the result of AddAttention and `rows` has the shape [...,
// queries, 1]; in the shape of the groups, so that it is the end of attention's task.
ValueId ZeroRows(Graph& graph, ValueId rows, ValueId x);

}  // namespace mlc::graph
