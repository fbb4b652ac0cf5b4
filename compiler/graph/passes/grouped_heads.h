// Attention in which each head of keys and values serves several heads of queries. Exporters repeat
// such keys and values in memory; these functions read them in place. Not thread-safe, as Graph.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// Adds an attention node, whose type need not be set, and returns its result of shape [batch,
// heads, queries, width]. If keys and values are repeated for groups of heads, the node attends per
// group: the queries of the heads of a group form the rows of one matrix or, for a single batch, a
// group is a batch whose heads share their keys. Batches that are joined to heads are taken apart.
ValueId AddAttention(Graph& graph, Value attention);

// select(rows, 0, x), where `x` is the result of AddAttention and `rows` has the shape [...,
// queries, 1]. It uses the shape of the groups, so that it becomes the epilogue of attention's
// task.
ValueId ZeroRows(Graph& graph, ValueId rows, ValueId x);

}  // namespace mlc::graph
