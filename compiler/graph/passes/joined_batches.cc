#include "compiler/graph/passes/joined_batches.h"

#include <array>
#include <utility>
#include <vector>

#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

struct Joined {
  ValueId of = kNoValue;  // [length, batches, heads * width], perhaps behind ones
  int64_t batches = 1;
};

// What [1, batches * heads, length, width] or [batches, heads, length, width] is the reshape,
// transpose and reshape of.
std::optional<Joined> FindJoined(const Graph& graph, ValueId id) {
  const Dims dims = graph[id].type.dims;
  if (dims.size() != 4 || graph[id].op != Op::kReshape) return std::nullopt;
  const int64_t heads = dims[0] * dims[1];  // of all batches
  const Value& transpose = graph[graph[id].operands[0]];
  if (transpose.op != Op::kTranspose || transpose.Ints("perm") != Dims{1, 0, 2} ||
      transpose.type.dims != Dims{heads, dims[2], dims[3]}) {
    return std::nullopt;
  }
  const Value& reshape = graph[transpose.operands[0]];
  if (reshape.op != Op::kReshape) return std::nullopt;
  Dims below = graph[reshape.operands[0]].type.dims;
  while (below.size() > 3 && below[0] == 1) below.erase(below.begin());
  if (below.size() != 3 || below[0] != dims[2] || below[1] <= 1) return std::nullopt;
  if (dims[0] > 1 && dims[0] != below[1]) return std::nullopt;
  // Whole heads of each batch.
  if (heads % below[1] != 0 || below[2] != heads / below[1] * dims[3]) return std::nullopt;
  return Joined{reshape.operands[0], below[1]};
}

// Whether an operand of all heads is the same for each of them.
bool IsOfEveryHead(const Dims& mask) {
  if (mask.size() > 4) return false;
  for (size_t i = 0; i + 2 < mask.size(); ++i) {
    if (mask[i] != 1) return false;
  }
  return true;
}

}  // namespace

std::optional<ValueId> AttentionOfBatches(Graph& graph, const Value& attention) {
  Value node = attention;
  if (node.operands.size() > 4) return std::nullopt;
  const bool are_apart = graph[node.operands[0]].type.dims[0] > 1;
  if (!are_apart && node.operands.size() == 4 && node.operands[3] != kNoValue &&
      !IsOfEveryHead(graph[node.operands[3]].type.dims)) {
    return std::nullopt;
  }
  std::array<Joined, 3> joined;
  for (size_t i = 0; i < joined.size(); ++i) {
    const std::optional<Joined> found = FindJoined(graph, node.operands[i]);
    if (!found || (i > 0 && found->batches != joined[0].batches)) return std::nullopt;
    joined[i] = *found;
  }
  Dims result = graph[node.operands[0]].type.dims;
  for (size_t i = 0; i < joined.size(); ++i) {
    const Dims dims = graph[node.operands[i]].type.dims;
    const int64_t batches = joined[i].batches;
    const int64_t heads = dims[0] * dims[1] / batches;
    const ValueId apart =
        SimplifiedReshape(graph, joined[i].of, {dims[2], batches, heads, dims[3]});
    node.operands[i] = SimplifiedTranspose(graph, apart, {1, 2, 0, 3});
    result[3] = dims[3];
  }
  return SimplifiedReshape(graph, AddNode(graph, std::move(node)), std::move(result));
}

}  // namespace mlc::graph
