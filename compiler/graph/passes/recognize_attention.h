// recognize_attention: softmax(scale * q k^T + mask) v becomes one attention node with q, k and v
// of logical shape [batch, heads, length, depth], in every form that exporters write it in. Before:
// simplified; softmax is one node. Factors of q, k and the scores join the scale; sums with masks,
// selections and lower bounds become one mask; changes of shape between the parts move to the
// operands; heads of keys that serve several heads of queries are not repeated. Left alone: scores
// with other readers, other arithmetic on them, doubles. Runs before canonicalize_matmul moves
// reshapes about.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> RecognizeAttention(Graph& graph);

// Messages for the user, one line each, in order: the parts of the graph that resemble attention
// but that RecognizeAttention leaves alone, and why. The texts may contain names of the model.
std::vector<std::string> UnfusedAttention(const Graph& graph);

}  // namespace mlc::graph
