// recognize_rotary: x * cos + rotate_half(x) * sin, where rotate_half joins the
// negated second half of the last dimension to the first one. Before:
// simplified. After: the halves are a dimension of two, which a slice walks
// backwards, and the sign is a factor of sin; so no joined tensor is written,
// and one pointwise task computes the whole. Values stay the same to the bit.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> RecognizeRotary(Graph& graph);

}  // namespace mlc::graph
