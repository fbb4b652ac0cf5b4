// Adapts values that broadcast to a tensor when the dimensions of that tensor are split, joined or
// reordered. Dimensions of size one stay if possible, so that less is computed and stored. Not
// thread-safe, as Graph.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// `x` has `kept` last dimensions of its own; those before broadcast to `from`. The dimensions of
// the result broadcast to `to`, which has the same number of elements as `from`. REQUIRES: no
// dimension of `from` and `to` is zero.
ValueId Regroup(Graph& graph, ValueId x, const std::vector<int64_t>& from,
                const std::vector<int64_t>& to, size_t kept);

// `x` with ones before its dimensions, up to `rank`.
ValueId PadRank(Graph& graph, ValueId x, size_t rank);

// As the builders of rewrite.h, but simplified.
ValueId SimplifiedReshape(Graph& graph, ValueId x, std::vector<int64_t> dims);
ValueId SimplifiedTranspose(Graph& graph, ValueId x, std::vector<int64_t> perm);
ValueId SimplifiedExpand(Graph& graph, ValueId x, std::vector<int64_t> dims);
ValueId SimplifiedPointwise(Graph& graph, ScalarOp op, std::vector<ValueId> operands);
ValueId SimplifiedMax(Graph& graph, ValueId x);  // over the last dimension, which stays as one

}  // namespace mlc::graph
