// Attention whose heads are those of several batches: torch.nn.MultiheadAttention joins both, with
// tokens before batches, so that its operands would have to be copied. Not thread-safe, as Graph.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// Adds the attention node with batches and heads apart, and returns its result in the shape of
// `attention`'s; null unless queries, keys and values are each [length, batches, heads * width]
// behind [1, batches * heads, length, width] or [batches, heads, length, width]. In the first form
// the mask must be the same for all heads.
std::optional<ValueId> AttentionOfBatches(Graph& graph, const Value& attention);

}  // namespace mlc::graph
