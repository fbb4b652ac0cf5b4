#include "compiler/graph/passes/decode_weights.h"

#include <algorithm>
#include <functional>
#include <vector>

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

bool HasReadForm(const Graph& graph, const Value& node, const PackedReads& reads) {
  if (reads.rows == 0) return false;
  if (IsFloat8(graph[node.operands[0]].type.dtype) && !reads.float8) return false;
  if (!reads.narrow) return true;
  const DType dtype = node.type.dtype;
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  if (!narrow && !(reads.narrows && dtype == DType::kF32)) return false;
  if (graph[node.operands[1]].type.dtype != dtype) return false;
  if (node.operands.size() > 2 && graph[node.operands[2]].type.dtype != DType::kU8) return false;
  return node.Int("block") % 8 == 0 || node.Int("block") >= node.Int("depth");
}

bool HasReadRows(const Value& user, const PackedReads& reads) {
  if (user.op != Op::kMatMul || user.type.NumElements() == 0) return true;
  return user.type.NumElements() / user.type.dims.back() <= reads.rows;
}

bool ReadAsItIs(const Graph& graph, const std::vector<std::vector<ValueId>>& users, ValueId id,
                const PackedReads& reads) {
  const Value& node = graph[id];
  const auto has_data = [&](ValueId operand) { return graph[operand].data != nullptr; };
  const auto is_product = [&](ValueId user) {
    return IsRightOperand(graph, graph[user], id) && HasReadRows(graph[user], reads);
  };
  const std::vector<ValueId>& own = users[static_cast<size_t>(id)];
  return HasReadForm(graph, node, reads) &&
         std::all_of(node.operands.begin(), node.operands.end(), has_data) &&
         std::all_of(own.begin(), own.end(), is_product) &&
         std::count(graph.outputs().begin(), graph.outputs().end(), id) == 0;
}

// Decodes the dequantize nodes for which `decodes` holds.
Result<bool> DecodeWhere(Graph& graph, const std::function<bool(ValueId)>& decodes) {
  std::vector<bool> stays(static_cast<size_t>(graph.size()), true);
  bool any = false;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kDequantize || !decodes(id)) continue;
    stays[static_cast<size_t>(id)] = false;
    any = true;
  }
  if (!any) return false;
  size_t next = 0;  // nodes are visited in order
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    return stays[next++] ? rewriter.out().Add(node) : Decoded(rewriter.out(), node);
  });
}

}  // namespace

Result<bool> DecodeWeights(Graph& graph) {
  if (!HasPacked(graph)) return false;
  return Rewriter::Run(graph, [](Rewriter& rewriter, const Value& node) {
    if (node.op == Op::kDequantize) return Decoded(rewriter.out(), node);
    return rewriter.out().Add(node);
  });
}

Result<bool> DecodeUnread(Graph& graph, const PackedReads& reads) {
  if (!HasPacked(graph)) return false;
  const std::vector<std::vector<ValueId>> users = graph.Users();
  return DecodeWhere(graph, [&](ValueId id) {
    const std::vector<ValueId>& own = users[static_cast<size_t>(id)];
    const auto few_rows = [&](ValueId user) { return HasReadRows(graph[user], reads); };
    return !HasReadForm(graph, graph[id], reads) || !std::all_of(own.begin(), own.end(), few_rows);
  });
}

Result<bool> DecodeOtherWeights(Graph& graph, const PackedReads& reads) {
  if (!HasPacked(graph)) return false;
  const std::vector<std::vector<ValueId>> users = graph.Users();
  return DecodeWhere(graph, [&](ValueId id) { return !ReadAsItIs(graph, users, id, reads); });
}

}  // namespace mlc::graph
