#include "compiler/graph/passes/canonicalize_matmul.h"

#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/passes/swap_rows.h"

namespace mlc::graph {

namespace {

using Replacement = std::optional<ValueId>;
using Dims = std::vector<int64_t>;

ValueId Reshape(Graph& graph, ValueId x, Dims dims) {
  Value node;
  node.op = Op::kReshape;
  node.operands = {x};
  node.type = {graph[x].type.dtype, std::move(dims), {}};
  return AddSimplified(graph, std::move(node));
}

// [..., M, K] x [K, N], also [..., 1, M, K] x [1, K, N].
Replacement Flatten(Graph& graph, const Value& node) {
  if (node.op != Op::kMatMul) return std::nullopt;
  const Dims a = graph[node.operands[0]].type.dims;
  const Dims b = graph[node.operands[1]].type.dims;
  if (a.size() <= 2 && b.size() <= 2) return std::nullopt;
  for (size_t i = 0; i + 2 < b.size(); ++i) {
    if (b[i] != 1) return std::nullopt;
  }
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < a.size(); ++i) rows *= a[i];
  Value product;
  product.op = Op::kMatMul;
  product.attrs = node.attrs;
  product.operands = {Reshape(graph, node.operands[0], {rows, a.back()}),
                      Reshape(graph, node.operands[1], {b[b.size() - 2], b.back()})};
  return Reshape(graph, AddNode(graph, std::move(product)), node.type.dims);
}

// Among the operands, the reshape of lowest source rank that gives the node's whole shape from a
// lower rank; what sits below it is the new index space.
ValueId SinkableReshape(const Graph& graph, const Value& node) {
  ValueId best = kNoValue;
  for (const ValueId operand : node.operands) {
    if (operand == kNoValue || !IsOp(graph, operand, Op::kReshape)) continue;
    if (graph[operand].type.dims != node.type.dims) continue;
    const ValueId source = graph[operand].operands[0];
    if (graph[source].type.rank() >= node.type.rank() || graph[source].type.rank() == 0) continue;
    if (best == kNoValue || graph[source].type.rank() < graph[best].type.rank()) best = source;
  }
  return best;
}

// The operand as it reads in the index space `dims`, whose elements are the node's in order.
Replacement InSpace(Graph& graph, ValueId operand, const Dims& from, const Dims& dims) {
  const TensorType type = graph[operand].type;
  if (type.dims == from) return Reshape(graph, operand, dims);
  if (type.NumElements() == 1) return Reshape(graph, operand, {});
  // Varies along the last dimension only, and both spaces have that.
  const bool along_last = type.dims.back() == from.back() && type.NumElements() == from.back();
  if (along_last && dims.back() == from.back()) return Reshape(graph, operand, {from.back()});
  return std::nullopt;
}

Replacement SinkBelowPointwise(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise && node.op != Op::kCast) return std::nullopt;
  const ValueId source = SinkableReshape(graph, node);
  if (source == kNoValue) return std::nullopt;
  const Dims dims = graph[source].type.dims;
  Value lowered = node;
  for (ValueId& operand : lowered.operands) {
    const Replacement moved = InSpace(graph, operand, node.type.dims, dims);
    if (!moved) return std::nullopt;
    operand = *moved;
  }
  lowered.type.dims = dims;
  return Reshape(graph, graph.Add(std::move(lowered)), node.type.dims);
}

// Normalising the last dimension needs no other.
Replacement SinkBelowLayerNorm(Graph& graph, const Value& node) {
  if (node.op != Op::kLayerNorm || node.Int("axis") != node.type.rank() - 1) return std::nullopt;
  Value inner = node;
  inner.operands.resize(1);
  const ValueId source = SinkableReshape(graph, inner);
  if (source == kNoValue || graph[source].type.dims.back() != node.type.dims.back()) {
    return std::nullopt;
  }
  Value lowered = node;
  lowered.operands[0] = source;
  lowered.type.dims = graph[source].type.dims;
  lowered.attrs["axis"] = int64_t{lowered.type.rank() - 1};
  return Reshape(graph, graph.Add(std::move(lowered)), node.type.dims);
}

// Strides of a value that is a view of a dense one.
Dims StridesOf(const Graph& graph, ValueId id) {
  const Value& node = graph[id];
  const bool is_reshape = node.op == Op::kReshape;
  if (!is_reshape && node.op != Op::kTranspose && node.op != Op::kSlice) {
    return node.type.EffectiveStrides();
  }
  const Dims& from = graph[node.operands[0]].type.dims;
  const Dims strides = StridesOf(graph, node.operands[0]);
  Dims result(node.type.dims.size(), 0);
  size_t next = 0;  // of the dimensions of a reshape's operand
  for (size_t d = 0; d < result.size(); ++d) {
    if (node.op == Op::kTranspose) result[d] = strides[static_cast<size_t>(node.Ints("perm")[d])];
    if (node.op == Op::kSlice) result[d] = strides[d] * node.Ints("steps")[d];
    if (!is_reshape || node.type.dims[d] == 1) continue;
    while (next < from.size() && from[next] == 1) ++next;
    // It does more than to add and drop ones.
    if (next == from.size() || from[next] != node.type.dims[d]) return node.type.EffectiveStrides();
    result[d] = strides[next++];
  }
  return result;
}

// Rows that lie one after the other, or far apart by the same distance.
bool HasEvenRows(const Graph& graph, ValueId id) {
  const Dims& dims = graph[id].type.dims;
  const Dims strides = StridesOf(graph, id);
  std::optional<int64_t> outer;
  for (size_t d = dims.size() - 1; d-- > 0;) {
    if (dims[d] == 1) continue;
    if (outer && strides[d] != *outer) return false;
    outer = strides[d] * dims[d];
  }
  return true;
}

// Of rank 2 wherever it stands, so that equal normalisations are one workload; but parts of packed
// projections, and heads that changed places with tokens, would have to be copied for that.
Replacement FlattenLayerNorm(Graph& graph, const Value& node) {
  const int rank = node.type.rank();
  if (node.op != Op::kLayerNorm || rank < 3 || node.Int("axis") != rank - 1) return std::nullopt;
  const int64_t width = node.type.dims.back();
  if (width == 0 || !HasEvenRows(graph, node.operands[0])) return std::nullopt;
  Value flat = node;
  flat.type.dims = {node.type.NumElements() / width, width};
  flat.operands[0] = Reshape(graph, node.operands[0], flat.type.dims);
  flat.attrs["axis"] = int64_t{1};
  return Reshape(graph, graph.Add(std::move(flat)), node.type.dims);
}

ValueId VisitMatMul(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  if (const Replacement id = WithoutSwap(rewriter, node)) return *id;
  if (const Replacement id = Flatten(graph, node)) return *id;
  if (const Replacement id = SinkBelowPointwise(graph, node)) return *id;
  if (const Replacement id = SinkBelowLayerNorm(graph, node)) return *id;
  if (const Replacement id = FlattenLayerNorm(graph, node)) return *id;
  if (node.op == Op::kReshape || node.op == Op::kTranspose) return AddSimplified(graph, node);
  return graph.Add(node);
}

}  // namespace

Result<bool> CanonicalizeMatMul(Graph& graph) { return Rewriter::Run(graph, VisitMatMul); }

}  // namespace mlc::graph
