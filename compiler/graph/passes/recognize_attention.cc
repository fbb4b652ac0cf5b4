#include "compiler/graph/passes/recognize_attention.h"

#include <numeric>

#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"

namespace mlc::graph {

namespace {

struct Scores {
  ValueId q = kNoValue;
  ValueId k_transposed = kNoValue;
  ValueId mask = kNoValue;
  double scale = 1;
};

// Strips a multiplication by a number.
ValueId StripScale(const Graph& graph, ValueId id, double& scale) {
  while (IsScalarOp(graph, id, ScalarOp::kMul)) {
    const Value& product = graph[id];
    const std::optional<double> factor = SplatOf(graph, product.operands[1]);
    if (!factor || graph[product.operands[0]].type.dims != product.type.dims) break;
    scale *= *factor;
    id = product.operands[0];
  }
  return id;
}

bool IsOnlyRead(const Rewriter& rewriter, ValueId id) { return rewriter.Uses(id) == 1; }

// True if `candidate` can be the scores and not the mask: a product, scaled or not.
bool LooksLikeScores(const Graph& graph, ValueId candidate) {
  double ignored = 1;
  return IsOp(graph, StripScale(graph, candidate, ignored), Op::kMatMul);
}

// The additive mask of select(condition, scores, very negative).
std::optional<ValueId> MaskOfSelect(Graph& graph, const Value& select) {
  constexpr double kVeryNegative = -1e9;
  const std::optional<double> otherwise = SplatOf(graph, select.operands[2]);
  if (!otherwise || !(*otherwise <= kVeryNegative)) return std::nullopt;
  const DType dtype = select.type.dtype;
  return AddPointwise(graph, ScalarOp::kSelect,
                      {select.operands[0], graph.Splat(dtype, 0), graph.Splat(dtype, *otherwise)});
}

std::optional<Scores> MatchScores(Rewriter& rewriter, ValueId id) {
  Graph& graph = rewriter.out();
  Scores scores;
  if (!IsOnlyRead(rewriter, id)) return std::nullopt;
  const std::vector<int64_t> dims = graph[id].type.dims;
  if (IsScalarOp(graph, id, ScalarOp::kAdd)) {
    const Value& add = graph[id];
    const size_t which = LooksLikeScores(graph, add.operands[0]) ? 0 : 1;
    scores.mask = add.operands[1 - which];
    id = add.operands[which];
  } else if (IsScalarOp(graph, id, ScalarOp::kSelect)) {
    const Value select = graph[id];
    const std::optional<ValueId> mask = MaskOfSelect(graph, select);
    if (!mask) return std::nullopt;
    scores.mask = *mask;
    id = select.operands[1];
  }
  if (graph[id].type.dims != dims || !IsOnlyRead(rewriter, id)) return std::nullopt;
  id = StripScale(graph, id, scores.scale);
  if (!IsOp(graph, id, Op::kMatMul) || !IsOnlyRead(rewriter, id)) return std::nullopt;
  scores.q = StripScale(graph, graph[id].operands[0], scores.scale);
  scores.k_transposed = StripScale(graph, graph[id].operands[1], scores.scale);
  return scores;
}

// Rank 3 becomes rank 4 with one batch.
ValueId WithBatch(Graph& graph, ValueId x) {
  std::vector<int64_t> dims = graph[x].type.dims;
  if (dims.size() == 4) return x;
  dims.insert(dims.begin(), 1);
  Value reshape;
  reshape.op = Op::kReshape;
  reshape.operands = {x};
  reshape.type = {graph[x].type.dtype, dims, {}};
  return AddSimplified(graph, std::move(reshape));
}

ValueId SwapLastTwo(Graph& graph, ValueId x) {
  std::vector<int64_t> perm(static_cast<size_t>(graph[x].type.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  Value transpose;
  transpose.op = Op::kTranspose;
  transpose.operands = {x};
  transpose.attrs["perm"] = std::move(perm);
  return AddSimplified(graph, std::move(transpose));
}

bool SameLeading(const Graph& graph, ValueId a, ValueId b) {
  const std::vector<int64_t>& x = graph[a].type.dims;
  const std::vector<int64_t>& y = graph[b].type.dims;
  return x.size() == y.size() && std::equal(x.begin(), x.end() - 2, y.begin());
}

ValueId VisitAttention(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  const int rank = node.type.rank();
  if (node.op != Op::kMatMul || rank < 3 || rank > 4 || !IsFloat(node.type.dtype)) {
    return graph.Add(node);
  }
  const ValueId weights = node.operands[0], v = node.operands[1];
  if (!IsOp(graph, weights, Op::kSoftmax) || graph[weights].Int("axis") != rank - 1 ||
      !IsOnlyRead(rewriter, weights)) {
    return graph.Add(node);
  }
  const std::optional<Scores> scores = MatchScores(rewriter, graph[weights].operands[0]);
  if (!scores || graph[scores->q].type.rank() != rank ||
      !SameLeading(graph, scores->q, scores->k_transposed) || !SameLeading(graph, scores->q, v)) {
    return graph.Add(node);
  }
  Value attention;
  attention.op = Op::kAttention;
  attention.operands = {WithBatch(graph, scores->q),
                        WithBatch(graph, SwapLastTwo(graph, scores->k_transposed)),
                        WithBatch(graph, v)};
  // A mask of rank 3 broadcasts to the scores of rank 4 as it is.
  if (scores->mask != kNoValue) attention.operands.push_back(scores->mask);
  attention.attrs["scale"] = scores->scale;
  return AddReshape(graph, AddNode(graph, std::move(attention)), node.type.dims);
}

}  // namespace

Result<bool> RecognizeAttention(Graph& graph) { return Rewriter::Run(graph, VisitAttention); }

}  // namespace mlc::graph
