// Caches that grow: an input to whose end a step joins what is new, and which is an output with it.
// As exporters write them: present = Concat(past, new).
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// Whether the node joins one value to an input that nothing else reads, and is an output.
bool IsGrowingCache(const Graph& graph, ValueId join);

// Makes the input as long as the result, and writes the joined value over its elements from
// `length` on, i32[1], the number of true elements of the input. The result is then an update of
// the input in place. Returns the value that stands for the join, which has no users any more.
// REQUIRES: IsGrowingCache; at run time, the length and the value's own are the result's at most.
Result<ValueId> WriteBehind(Graph& graph, ValueId join, ValueId length);

}  // namespace mlc::graph
