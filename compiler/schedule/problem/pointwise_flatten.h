// Rewrites a graph of pointwise and affine data movement (transpose, slice, expand, reshape and
// view of operands) to one over strided views of the operands, with as few dimensions as possible.
// Thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::schedule {

// `roots` are values of `graph` with equal dims, which are stored with strides[i]. The result has
// one kCopy output per root, dims by falling stride, and the sources of `graph` with the same ids.
// Empty if the strides of an operand are not constant.
std::optional<graph::Graph> Flatten(const graph::Graph& graph,
                                    const std::vector<graph::ValueId>& roots,
                                    const std::vector<std::vector<int64_t>>& strides);

}  // namespace mlc::schedule
