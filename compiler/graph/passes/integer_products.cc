#include "compiler/graph/passes/integer_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/byte_product.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// Single precision is exact below 2^24: so many products of u8 and i8 can be summed.
constexpr int64_t kExactTerms = (int64_t{1} << 24) / (255 * 128);

ValueId Cast(Graph& graph, ValueId x, DType dtype) {
  Value node;
  node.op = Op::kCast;
  node.operands = {x};
  node.type = {dtype, graph[x].type.dims, {}};
  return AddNode(graph, std::move(node));
}

// The scales of weights as a factor of the result; nothing if they vary along what is summed.
std::optional<ValueId> FactorOfColumns(Graph& graph, const Value& product, ValueId scale) {
  const Dims dims = graph[scale].type.dims;
  if (graph[scale].type.NumElements() == 1) return AddReshape(graph, scale, {});
  const size_t rank = graph[product.operands[1]].type.dims.size();
  const size_t column = product.op == Op::kMatMul ? rank - 1 : 0;
  if (dims.size() != rank || graph[scale].type.NumElements() != dims[column]) return std::nullopt;
  if (product.op == Op::kMatMul) return AddReshape(graph, scale, {dims[column]});
  Dims shape(rank - 1, 1);
  shape[0] = dims[column];
  return AddReshape(graph, scale, std::move(shape));
}

std::optional<ValueId> ScaledSums(Graph& graph, const Value& product, bool filters) {
  const std::optional<ScaledCodes> x = FindScaledCodes(graph, product.operands[0]);
  if (!x || graph[x->scale].type.NumElements() != 1) return std::nullopt;
  const std::optional<ScaledCodes> w = FindScaledCodes(graph, product.operands[1]);
  if (!w) return std::nullopt;
  const std::optional<ValueId> factor = FactorOfColumns(graph, product, w->scale);
  if (!factor) return std::nullopt;
  Value centred = product;
  centred.operands = {x->centred, w->centred};
  const std::optional<ValueId> sums = SumsOfBytes(graph, centred, filters);
  if (!sums) return std::nullopt;
  const ValueId scale =
      AddFolded(graph, ScalarOp::kMul, {AddReshape(graph, x->scale, {}), *factor});
  return AddPointwise(graph, ScalarOp::kMul, {Cast(graph, *sums, DType::kF32), scale});
}

ValueId SliceAxis(Graph& graph, ValueId x, size_t axis, int64_t at, int64_t size) {
  Value slice;
  slice.op = Op::kSlice;
  slice.operands = {x};
  Dims starts(graph[x].type.dims.size(), 0);
  starts[axis] = at;
  slice.attrs["starts"] = std::move(starts);
  slice.type = {graph[x].type.dtype, graph[x].type.dims, {}};
  slice.type.dims[axis] = size;
  return AddNode(graph, std::move(slice));
}

// In parts of what is summed, each exact in single precision; a filter with too many taps for that
// in double precision.
ValueId SpelledOut(Graph& graph, const Value& product) {
  const ValueId x = product.operands[0], w = product.operands[1];
  const Dims x_dims = graph[x].type.dims, w_dims = graph[w].type.dims;
  const bool matmul = product.op == Op::kMatMul;
  const size_t x_axis = matmul ? x_dims.size() - 1 : 1;
  const size_t w_axis = matmul ? w_dims.size() - 2 : 1;
  int64_t taps = 1;
  for (size_t i = 2; !matmul && i < w_dims.size(); ++i) taps *= w_dims[i];
  const int64_t together = kExactTerms / std::max<int64_t>(taps, 1);
  const int64_t depth = w_dims[w_axis];
  const bool whole = depth <= together || (!matmul && product.Int("group") != 1) || together == 0;
  const DType dtype = whole && depth > together ? DType::kF64 : DType::kF32;
  const int64_t step = whole ? std::max<int64_t>(depth, 1) : together;
  ValueId sum = kNoValue;
  for (int64_t at = 0; at < std::max<int64_t>(depth, 1); at += step) {
    const int64_t size = std::min(step, depth - at);
    Value part = product;
    part.operands = {Cast(graph, whole ? x : SliceAxis(graph, x, x_axis, at, size), dtype),
                     Cast(graph, whole ? w : SliceAxis(graph, w, w_axis, at, size), dtype)};
    const ValueId sums = Cast(graph, AddNode(graph, std::move(part)), DType::kI32);
    sum = sum == kNoValue ? sums : AddPointwise(graph, ScalarOp::kAdd, {sum, sums});
  }
  return sum;
}

bool HasAny(const Graph& graph, const std::function<bool(const Value&)>& is) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (is(graph[id])) return true;
  }
  return false;
}

}  // namespace

Result<bool> MultiplyBytes(Graph& graph, bool filters) {
  const auto reads_bytes = [&](const Value& node) {
    if (node.op != Op::kCast || node.type.dtype != DType::kF32) return false;
    const DType from = graph[node.operands[0]].type.dtype;
    return from == DType::kU8 || from == DType::kI8;
  };
  if (!HasAny(graph, reads_bytes)) return false;
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    const bool product = node.op == Op::kMatMul || node.op == Op::kConv;
    const std::optional<ValueId> sums = product ? ScaledSums(out, node, filters) : std::nullopt;
    return sums ? *sums : out.Add(node);
  });
}

Result<bool> SpellOutProductsOfBytes(Graph& graph) {
  const auto of_bytes = [&](const Value& node) { return IsProductOfBytes(graph, node); };
  if (!HasAny(graph, of_bytes)) return false;
  return Rewriter::Run(graph, [](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    return IsProductOfBytes(out, node) ? SpelledOut(out, node) : out.Add(node);
  });
}

}  // namespace mlc::graph
