#include "compiler/graph/passes/decode_weights.h"

#include <algorithm>

#include "compiler/graph/packed_matrix.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

// Column by column, as the codes lie: products read the matrix so as well as by rows.
ValueId Decoded(Graph& graph, const Value& node) {
  std::vector<TensorDataRef> operands;
  for (const ValueId operand : node.operands) {
    operands.push_back(ConstantData(graph[operand]));
    if (operands.back() == nullptr) return graph.Add(node);
  }
  const ValueId columns = graph.Constant(Dequantized(node, operands, true), node.name);
  return AddTranspose(graph, columns, {1, 0});
}

bool HasPacked(const Graph& graph) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kDequantize) return true;
  }
  return false;
}

// A product of two matrices whose right one this is, and only that.
bool IsRightOperand(const Graph& graph, const Value& user, ValueId id) {
  if (user.op != Op::kMatMul || user.type.rank() != 2 || user.operands[1] != id) return false;
  const Op left = graph[user.operands[0]].op;
  return left != Op::kConstant && left != Op::kDequantize && user.type.NumElements() > 0;
}

bool ReadAsItIs(const Graph& graph, const std::vector<std::vector<ValueId>>& users, ValueId id) {
  const Value& node = graph[id];
  const auto has_data = [&](ValueId operand) { return graph[operand].data != nullptr; };
  const auto is_product = [&](ValueId user) { return IsRightOperand(graph, graph[user], id); };
  const std::vector<ValueId>& own = users[static_cast<size_t>(id)];
  return std::all_of(node.operands.begin(), node.operands.end(), has_data) &&
         std::all_of(own.begin(), own.end(), is_product) &&
         std::count(graph.outputs().begin(), graph.outputs().end(), id) == 0;
}

}  // namespace

Result<bool> DecodeWeights(Graph& graph) {
  if (!HasPacked(graph)) return false;
  return Rewriter::Run(graph, [](Rewriter& rewriter, const Value& node) {
    if (node.op == Op::kDequantize) return Decoded(rewriter.out(), node);
    return rewriter.out().Add(node);
  });
}

Result<bool> DecodeOtherWeights(Graph& graph) {
  if (!HasPacked(graph)) return false;
  const std::vector<std::vector<ValueId>> users = graph.Users();
  std::vector<bool> stays(static_cast<size_t>(graph.size()), true);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kDequantize) {
      stays[static_cast<size_t>(id)] = ReadAsItIs(graph, users, id);
    }
  }
  size_t next = 0;  // nodes are visited in order
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    return stays[next++] ? rewriter.out().Add(node) : Decoded(rewriter.out(), node);
  });
}

}  // namespace mlc::graph
