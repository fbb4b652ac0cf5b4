#include "compiler/graph/passes/swap_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

const Dims kSwap = {1, 0, 2};

// The operand that has the node's rows, if all others are the same for each row.
std::optional<size_t> OperandWithRows(const Graph& graph, const Value& node) {
  std::optional<size_t> found;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const TensorType& type = graph[node.operands[i]].type;
    if (type.dims == node.type.dims) {
      if (found) return std::nullopt;
      found = i;
    } else if (type.rank() > 1 && type.NumElements() != type.dims.back()) {
      return std::nullopt;
    }
  }
  return found;
}

// The product's rows, reshape(transpose(x)), as if the outer two dimensions had not been swapped.
std::optional<ValueId> Unswapped(Graph& graph, ValueId rows, int64_t tokens, int64_t batch) {
  if (!IsOp(graph, rows, Op::kReshape)) return std::nullopt;
  const ValueId moved = graph[rows].operands[0];
  if (!IsOp(graph, moved, Op::kTranspose)) return std::nullopt;
  const Value transpose = graph[moved];
  const Dims& dims = transpose.type.dims;
  if (dims.size() < 3 || dims[0] != tokens || dims[1] != batch) return std::nullopt;
  Dims perm = transpose.Ints("perm");
  std::swap(perm[0], perm[1]);
  const Dims to = graph[rows].type.dims;
  return AddReshape(graph, AddTranspose(graph, transpose.operands[0], std::move(perm)), to);
}

}  // namespace

std::optional<ValueId> WithoutSwap(Rewriter& rewriter, const Value& transpose) {
  Graph& graph = rewriter.out();
  if (transpose.op != Op::kTranspose || transpose.Ints("perm") != kSwap) return std::nullopt;
  const ValueId split = transpose.operands[0];
  if (!IsOp(graph, split, Op::kReshape) || rewriter.Uses(split) > 1) return std::nullopt;
  const Dims dims = graph[split].type.dims;
  ValueId at = graph[split].operands[0];
  if (graph[at].type.dims != Dims{dims[0] * dims[1], dims[2]}) return std::nullopt;
  std::vector<std::pair<Value, size_t>> along;  // from the last one, with the operand that has rows
  while (IsOp(graph, at, Op::kPointwise) && rewriter.Uses(at) == 1) {
    const std::optional<size_t> operand = OperandWithRows(graph, graph[at]);
    if (!operand) return std::nullopt;
    along.emplace_back(graph[at], *operand);
    at = graph[at].operands[*operand];
  }
  if (!IsOp(graph, at, Op::kMatMul) || rewriter.Uses(at) > 1) return std::nullopt;
  Value product = graph[at];
  if (graph[product.operands[1]].type.rank() != 2 || product.operands.size() > 2) {
    return std::nullopt;
  }
  const std::optional<ValueId> rows = Unswapped(graph, product.operands[0], dims[0], dims[1]);
  if (!rows) return std::nullopt;
  product.operands[0] = *rows;
  ValueId result = AddNode(graph, std::move(product));
  for (auto step = along.rbegin(); step != along.rend(); ++step) {
    step->first.operands[step->second] = result;
    result = graph.Add(std::move(step->first));
  }
  return AddReshape(graph, result, transpose.type.dims);
}

}  // namespace mlc::graph
