// recognize_rotary: x * cos + rotate(x) * sin, where rotate joins the negated second half of the
// last dimension to the first one, or swaps the two of each pair of neighbours and negates one of
// them. Before: simplified. After: halves or pairs are a dimension of two, which a slice walks
// backwards, and the sign is a factor of sin; so no joined tensor is written, and one pointwise task
// computes the whole. Finite values stay the same. Tokens in front that do not turn, as a class
// token, turn by nothing: they have cos 1 and sin 0 where both are known.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> RecognizeRotary(Graph& graph);

}  // namespace mlc::graph
