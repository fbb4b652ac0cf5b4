// recognize_attention: softmax(scale * q k^T + mask) v becomes one attention node with q, k and v
// of logical shape [batch, heads, length, depth]. Before: simplified; softmax is one node. Scalar
// factors on q, on k and on the scores join the scale; a mask is added to the scores or selects a
// very negative number instead of them. Left alone: scores with other readers, masks before the
// scale, ranks other than 3 and 4. Runs before canonicalize_matmul moves reshapes about.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> RecognizeAttention(Graph& graph);

}  // namespace mlc::graph
