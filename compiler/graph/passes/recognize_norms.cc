#include "compiler/graph/passes/recognize_norms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

using Replacement = std::optional<ValueId>;

ValueId OperandOf(const Graph& graph, ValueId id, size_t i) { return graph[id].operands[i]; }

// `dims` with ones at `axes`.
std::vector<int64_t> Kept(std::vector<int64_t> dims, const std::vector<int64_t>& axes) {
  for (const int64_t axis : axes) dims[static_cast<size_t>(axis)] = 1;
  return dims;
}

// reduce `kind` of `x` over the returned axes, with dimensions that are kept or brought back, and
// no less than minus infinity.
std::optional<std::vector<int64_t>> ReductionOf(const Graph& graph, ValueId id, ValueId x,
                                                std::string_view kind) {
  const std::vector<int64_t> dims = graph[id].type.dims;
  while (!IsOp(graph, id, Op::kReduce)) {
    const bool bound =
        IsScalarOp(graph, id, ScalarOp::kMax) &&
        SplatOf(graph, OperandOf(graph, id, 1)) == -std::numeric_limits<double>::infinity();
    if (!bound && !IsOp(graph, id, Op::kReshape)) return std::nullopt;
    id = OperandOf(graph, id, 0);
  }
  const Value& reduce = graph[id];
  if (reduce.operands[0] != x || reduce.Word("kind") != kind) return std::nullopt;
  if (dims != Kept(graph[x].type.dims, reduce.Ints("axes"))) return std::nullopt;
  return reduce.Ints("axes");
}

// The first of trailing axes; null if they are not the last ones.
std::optional<int64_t> TrailingFrom(const std::vector<int64_t>& axes, int rank) {
  if (axes.empty()) return std::nullopt;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return std::nullopt;
  }
  return axes.front();
}

struct Deviation {
  ValueId centered = kNoValue;
  double epsilon = 0;
  std::vector<int64_t> axes;
};

// sqrt-ed argument: mean(d * d) + epsilon.
std::optional<Deviation> VarianceOf(const Graph& graph, ValueId id) {
  Deviation deviation;
  if (IsScalarOp(graph, id, ScalarOp::kAdd)) {
    const std::optional<double> epsilon = SplatOf(graph, OperandOf(graph, id, 1));
    if (!epsilon) return std::nullopt;
    deviation.epsilon = *epsilon;
    id = OperandOf(graph, id, 0);
  }
  if (!IsOp(graph, id, Op::kReduce)) return std::nullopt;
  const ValueId square = OperandOf(graph, id, 0);
  const std::string& kind = graph[id].Word("kind");
  if (kind != "mean" || graph[id].Int("keepdims") == 0) return std::nullopt;
  if (!IsScalarOp(graph, square, ScalarOp::kMul)) return std::nullopt;
  if (OperandOf(graph, square, 0) != OperandOf(graph, square, 1)) return std::nullopt;
  deviation.centered = OperandOf(graph, square, 0);
  deviation.axes = graph[id].Ints("axes");
  return deviation;
}

// d / sqrt(var), d * rsqrt(var) or d * reciprocal(sqrt(var)): gives d and var.
std::optional<Deviation> NormalizedBy(const Graph& graph, const Value& node, ValueId& centered) {
  if (node.op != Op::kPointwise) return std::nullopt;
  if (node.scalar == ScalarOp::kDiv) {
    if (!IsScalarOp(graph, node.operands[1], ScalarOp::kSqrt)) return std::nullopt;
    centered = node.operands[0];
    return VarianceOf(graph, OperandOf(graph, node.operands[1], 0));
  }
  if (node.scalar != ScalarOp::kMul) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (!IsScalarOp(graph, node.operands[i], ScalarOp::kRsqrt)) continue;
    centered = node.operands[1 - i];
    return VarianceOf(graph, OperandOf(graph, node.operands[i], 0));
  }
  return std::nullopt;
}

// x over the root of its mean square: a norm without a mean.
Replacement RmsNorm(Graph& graph, const Value& node) {
  ValueId x = kNoValue;
  const std::optional<Deviation> deviation = NormalizedBy(graph, node, x);
  if (!deviation || deviation->centered != x || graph[x].type.dims != node.type.dims) {
    return std::nullopt;
  }
  const std::optional<int64_t> axis = TrailingFrom(deviation->axes, node.type.rank());
  if (!axis) return std::nullopt;
  Value norm;
  norm.op = Op::kLayerNorm;
  norm.operands = {x, kNoValue, kNoValue};
  norm.attrs["axis"] = *axis;
  norm.attrs["epsilon"] = deviation->epsilon;
  norm.attrs["kind"] = std::string("rms");
  return AddNode(graph, std::move(norm));
}

// Through what keeps or brings back dimensions of size one.
ValueId Unshaped(const Graph& graph, ValueId id) {
  while (IsOp(graph, id, Op::kReshape)) id = OperandOf(graph, id, 0);
  return id;
}

// The bound of max(value, bound), which is not negative, and the value in place of `id`; zero if
// there is none.
double TakeBound(const Graph& graph, ValueId& id) {
  id = Unshaped(graph, id);
  if (!IsScalarOp(graph, id, ScalarOp::kMax)) return 0;
  const std::optional<double> bound = SplatOf(graph, OperandOf(graph, id, 1));
  if (!bound || !(*bound >= 0)) return 0;
  id = Unshaped(graph, OperandOf(graph, id, 0));
  return *bound;
}

// The axes of the squares of `x` that `id` sums up.
std::optional<std::vector<int64_t>> SumOfSquares(const Graph& graph, ValueId id, ValueId x) {
  if (!IsOp(graph, id, Op::kReduce)) return std::nullopt;
  const Value& reduce = graph[id];
  ValueId squared = reduce.operands[0];
  if (reduce.Word("kind") == "sum" && IsScalarOp(graph, squared, ScalarOp::kMul) &&
      OperandOf(graph, squared, 0) == OperandOf(graph, squared, 1)) {
    squared = OperandOf(graph, squared, 0);
  } else if (reduce.Word("kind") != "sum_square") {
    return std::nullopt;
  }
  if (squared != x) return std::nullopt;
  return reduce.Ints("axes");
}

// The axes along which `id` is the length of `x`, no less than `least`, of which the root (l2, or
// sqrt of squares) is taken, or with `is_square` that of a square.
std::optional<std::vector<int64_t>> LengthOf(const Graph& graph, ValueId id, ValueId x,
                                             bool is_square, double& least) {
  if (!is_square) {
    least = TakeBound(graph, id);
    if (IsOp(graph, id, Op::kReduce) && graph[id].Word("kind") == "l2" &&
        OperandOf(graph, id, 0) == x) {
      return graph[id].Ints("axes");
    }
    if (!IsScalarOp(graph, id, ScalarOp::kSqrt)) return std::nullopt;
    id = OperandOf(graph, id, 0);
  }
  least = std::max(least, std::sqrt(TakeBound(graph, id)));
  return SumOfSquares(graph, id, x);
}

// x over its length, which is no less than a number: x / max(l2(x), c), x * rsqrt(max(sum(x * x),
// c)).
Replacement UnitLength(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise) return std::nullopt;
  const bool divides = node.scalar == ScalarOp::kDiv;
  if (!divides && node.scalar != ScalarOp::kMul) return std::nullopt;
  for (size_t i = 0; i < (divides ? 1 : 2); ++i) {
    const ValueId x = node.operands[i], factor = node.operands[1 - i];
    if (!divides && !IsScalarOp(graph, factor, ScalarOp::kRsqrt)) continue;
    double least = 0;
    const auto axes =
        LengthOf(graph, divides ? factor : OperandOf(graph, factor, 0), x, !divides, least);
    if (!axes || graph[x].type.dims != node.type.dims) continue;
    if (graph[factor].type.dims != Kept(node.type.dims, *axes)) continue;
    const std::optional<int64_t> axis = TrailingFrom(*axes, node.type.rank());
    if (!axis) continue;
    Value norm;
    norm.op = Op::kLayerNorm;
    norm.operands = {x, kNoValue, kNoValue};
    norm.attrs["axis"] = *axis;
    norm.attrs["epsilon"] = least;
    norm.attrs["kind"] = std::string("l2");
    return AddNode(graph, std::move(norm));
  }
  return std::nullopt;
}

Replacement LayerNormCore(Graph& graph, const Value& node) {
  ValueId centered = kNoValue;
  const std::optional<Deviation> deviation = NormalizedBy(graph, node, centered);
  if (!deviation || deviation->centered != centered) return std::nullopt;
  if (!IsScalarOp(graph, centered, ScalarOp::kSub)) return std::nullopt;
  const ValueId x = OperandOf(graph, centered, 0);
  const auto axes = ReductionOf(graph, OperandOf(graph, centered, 1), x, "mean");
  if (!axes || *axes != deviation->axes || graph[x].type.dims != node.type.dims) {
    return std::nullopt;
  }
  const std::optional<int64_t> axis = TrailingFrom(*axes, node.type.rank());
  if (!axis) return std::nullopt;
  Value norm;
  norm.op = Op::kLayerNorm;
  norm.operands = {x, kNoValue, kNoValue};
  norm.attrs["axis"] = *axis;
  norm.attrs["epsilon"] = deviation->epsilon;
  return AddNode(graph, std::move(norm));
}

// layer_norm(x) * c and layer_norm(x) + c take the constant in.
Replacement LayerNormAffine(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  if (node.op != Op::kPointwise) return std::nullopt;
  const bool scales = node.scalar == ScalarOp::kMul, shifts = node.scalar == ScalarOp::kAdd;
  if (!scales && !shifts) return std::nullopt;
  const ValueId norm = node.operands[0], constant = node.operands[1];
  if (!IsOp(graph, norm, Op::kLayerNorm) || rewriter.Uses(norm) != 1) return std::nullopt;
  if (!IsConstant(graph, constant)) return std::nullopt;
  Value merged = graph[norm];
  merged.operands.resize(3, kNoValue);
  if (merged.operands[2] != kNoValue || (scales && merged.operands[1] != kNoValue)) {
    return std::nullopt;
  }
  const auto axis = static_cast<size_t>(merged.Int("axis"));
  std::vector<int64_t> dims = graph[constant].type.dims;
  const std::vector<int64_t> inner(node.type.dims.begin() + static_cast<int64_t>(axis),
                                   node.type.dims.end());
  while (dims.size() > inner.size() && dims.front() == 1) dims.erase(dims.begin());
  if (dims != inner || merged.type.dims != node.type.dims) return std::nullopt;
  merged.operands[scales ? 1 : 2] = AddReshape(graph, constant, dims);
  return graph.Add(std::move(merged));
}

// exp(x - max(x)) / sum(exp(x - max(x))) over one axis.
Replacement Softmax(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise || node.scalar != ScalarOp::kDiv) return std::nullopt;
  const ValueId exponential = node.operands[0];
  if (!IsScalarOp(graph, exponential, ScalarOp::kExp)) return std::nullopt;
  const auto summed = ReductionOf(graph, node.operands[1], exponential, "sum");
  const ValueId shifted = OperandOf(graph, exponential, 0);
  if (!summed || summed->size() != 1 || !IsScalarOp(graph, shifted, ScalarOp::kSub)) {
    return std::nullopt;
  }
  const ValueId x = OperandOf(graph, shifted, 0);
  if (ReductionOf(graph, OperandOf(graph, shifted, 1), x, "max") != summed) return std::nullopt;
  Value softmax;
  softmax.op = Op::kSoftmax;
  softmax.operands = {x};
  softmax.attrs["axis"] = summed->front();
  return AddNode(graph, std::move(softmax));
}

Replacement LogSoftmax(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  if (node.op != Op::kPointwise || node.scalar != ScalarOp::kLog) return std::nullopt;
  if (!IsOp(graph, node.operands[0], Op::kSoftmax)) return std::nullopt;
  if (rewriter.Uses(node.operands[0]) != 1) return std::nullopt;
  Value merged = graph[node.operands[0]];
  merged.op = Op::kLogSoftmax;
  return graph.Add(std::move(merged));
}

ValueId VisitNorm(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  if (const Replacement id = LayerNormCore(graph, node)) return *id;
  if (const Replacement id = RmsNorm(graph, node)) return *id;
  if (const Replacement id = UnitLength(graph, node)) return *id;
  if (const Replacement id = LayerNormAffine(rewriter, node)) return *id;
  if (const Replacement id = Softmax(graph, node)) return *id;
  if (const Replacement id = LogSoftmax(rewriter, node)) return *id;
  return graph.Add(node);
}

}  // namespace

Result<bool> RecognizeNorms(Graph& graph) { return Rewriter::Run(graph, VisitNorm); }

}  // namespace mlc::graph
