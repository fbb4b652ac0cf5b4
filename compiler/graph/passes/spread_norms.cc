#include "compiler/graph/passes/spread_norms.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

// Images have a batch, channels and two more dimensions.
constexpr size_t kMinRank = 4;

// Where the first dimensions of `dims` have `points` points together, after a cut of one of them
// if need be; null if nothing ends there.
std::optional<size_t> CutAt(int64_t points, std::vector<int64_t>& dims) {
  size_t i = 0;
  for (; i < dims.size() && (points > 1 || dims[i] == 1); ++i) {
    if (points % dims[i] == 0) {
      points /= dims[i];
      continue;
    }
    if (dims[i] % points != 0) return std::nullopt;
    dims[i] /= points;
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(i), points);
    points = 1;
  }
  if (points != 1) return std::nullopt;
  return i;
}

// layer_norm(reshape(x)) -> reshape(layer_norm(x)), where x is an image.
ValueId VisitNormReader(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  const bool plain =
      node.op == Op::kLayerNorm && std::all_of(node.operands.begin() + 1, node.operands.end(),
                                               [](ValueId operand) { return operand == kNoValue; });
  if (!plain || !IsOp(graph, node.operands[0], Op::kReshape)) return graph.Add(node);
  const ValueId x = graph[node.operands[0]].operands[0];
  std::vector<int64_t> dims = graph[x].type.dims;
  if (dims.size() < kMinRank || graph[x].type.NumElements() == 0) return graph.Add(node);
  int64_t rows = 1;
  for (int64_t d = 0; d < node.Int("axis"); ++d) rows *= node.type.dims[static_cast<size_t>(d)];
  const std::optional<size_t> axis = CutAt(rows, dims);
  // A norm over the last dimension alone is a row as it stands.
  if (!axis || *axis + 1 >= dims.size()) return graph.Add(node);
  Value norm = node;
  norm.operands[0] = AddReshape(graph, x, dims);
  norm.type = {};
  norm.attrs["axis"] = static_cast<int64_t>(*axis);
  return AddReshape(graph, AddNode(graph, std::move(norm)), node.type.dims);
}

}  // namespace

Result<bool> SpreadNorms(Graph& graph) { return Rewriter::Run(graph, VisitNormReader); }

}  // namespace mlc::graph
