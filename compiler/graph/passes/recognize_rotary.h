// recognize_rotary: x * cos + rotate(x) * sin, where rotate joins the negated second half of the
// last dimension to the first one, or swaps neighbours of which it negates one; of all of a head,
// or of a part that is joined to the rest. Before: simplified. After: the halves or neighbours are
// a dimension of two, which a slice walks backwards, and the sign is a factor of sin; so no joined
// tensor is written, and one pointwise task computes the whole. What does not turn, as the rest of
// a head or a class token in front, has a cosine of 1 and a sine of 0; tokens only where both are
// known. Finite values stay the same to the bit.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> RecognizeRotary(Graph& graph);

}  // namespace mlc::graph
