#include "compiler/graph/passes/fold_scale.h"

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

constexpr int64_t kMaxWeightBytes = int64_t{64} << 20;

// `factor`, reshaped so that it multiplies the weights; null if it varies along more than the
// output channels.
std::optional<ValueId> FactorOfWeights(Graph& graph, const Value& anchor, ValueId factor) {
  const std::vector<int64_t>& out = anchor.type.dims;
  const std::vector<int64_t> dims = graph[factor].type.dims;
  const size_t channel = anchor.op == Op::kConv ? 1 : out.size() - 1;
  if (dims.size() > out.size()) return std::nullopt;
  int64_t size = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (out.size() - dims.size() + i != channel) return std::nullopt;
    size = dims[i];
  }
  if (anchor.op != Op::kConv) return AddReshape(graph, factor, {size});
  std::vector<int64_t> shape(graph[anchor.operands[1]].type.dims.size(), 1);
  shape[0] = size;
  return AddReshape(graph, factor, std::move(shape));
}

bool IsFoldable(const Rewriter& rewriter, const Graph& graph, ValueId id) {
  if (!IsOp(graph, id, Op::kConv) && !IsOp(graph, id, Op::kMatMul)) return false;
  const Value& anchor = graph[id];
  return rewriter.Uses(id) == 1 && IsFloat(anchor.type.dtype) &&
         IsConstant(graph, anchor.operands[1]) &&
         graph[anchor.operands[1]].type.dtype == anchor.type.dtype &&  // float8 has no room for it
         BytesOf(graph[anchor.operands[1]].type) <= kMaxWeightBytes;
}

// anchor * factor as an anchor of scaled weights.
std::optional<ValueId> ScaleAnchor(Rewriter& rewriter, ValueId id, ValueId factor) {
  Graph& graph = rewriter.out();
  if (!IsFoldable(rewriter, graph, id)) return std::nullopt;
  Value anchor = graph[id];
  const std::optional<ValueId> reshaped = FactorOfWeights(graph, anchor, factor);
  if (!reshaped) return std::nullopt;
  const ValueId weights = AddFolded(graph, ScalarOp::kMul, {anchor.operands[1], *reshaped});
  if (graph[weights].type.dims != graph[anchor.operands[1]].type.dims) return std::nullopt;
  graph[weights].name = graph[anchor.operands[1]].name;
  anchor.operands[1] = weights;
  return graph.Add(std::move(anchor));
}

ValueId VisitScale(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  const bool scales = node.op == Op::kPointwise && node.scalar == ScalarOp::kMul &&
                      IsConstant(graph, node.operands[1]) &&
                      graph[node.operands[0]].type.dims == node.type.dims;
  if (!scales) return graph.Add(node);
  const ValueId x = node.operands[0], factor = node.operands[1];
  if (const std::optional<ValueId> scaled = ScaleAnchor(rewriter, x, factor)) return *scaled;
  // (anchor + bias) * factor -> anchor * factor + bias * factor.
  const bool biased = IsScalarOp(graph, x, ScalarOp::kAdd) && rewriter.Uses(x) == 1 &&
                      IsConstant(graph, graph[x].operands[1]) &&
                      graph[graph[x].operands[0]].type.dims == node.type.dims;
  if (!biased) return graph.Add(node);
  const ValueId anchor = graph[x].operands[0], bias = graph[x].operands[1];
  const std::optional<ValueId> scaled = ScaleAnchor(rewriter, anchor, factor);
  if (!scaled) return graph.Add(node);
  return AddPointwise(graph, ScalarOp::kAdd,
                      {*scaled, AddFolded(graph, ScalarOp::kMul, {bias, factor})});
}

}  // namespace

Result<bool> FoldScale(Graph& graph) { return Rewriter::Run(graph, VisitScale); }

}  // namespace mlc::graph
