#include "compiler/graph/passes/float8_products.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/float8_codes.h"
#include "compiler/graph/passes/float8_blocks.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// Below, weights are read as numbers: skinny kernels do not wait for matrix units.
constexpr int64_t kMinRows = 48;
constexpr int64_t kMinColumns = 32;
constexpr int64_t kMinDepth = 128;
constexpr int64_t kPieceElements = 16;  // of a copy's 16 bytes

// codes times scale, which has one element, or one for each index along some dimensions.
struct Scaled {
  ValueId codes = kNoValue;  // float8
  ValueId scale = kNoValue;  // f32; none: 1
};

bool IsZero(const Graph& graph, ValueId id) {
  const std::optional<double> number = SplatOf(graph, id);
  return number && *number == 0;
}

ValueId Cast(Graph& graph, ValueId x, DType dtype) {
  if (graph[x].type.dtype == dtype) return x;
  Value node;
  node.op = Op::kCast;
  node.operands = {x};
  node.type = {dtype, graph[x].type.dims, {}};
  return AddNode(graph, std::move(node));
}

// A constant as float8, if it has such numbers alone.
std::optional<ValueId> Narrowed(Graph& graph, ValueId constant) {
  const Value& node = graph[constant];
  if (node.op != Op::kConstant || !node.data || node.type.dtype != DType::kF16) return std::nullopt;
  const std::string name = node.name;
  const std::optional<TensorDataRef> codes = AsFloat8(node.data);
  return codes ? std::optional(graph.Constant(*codes, name)) : std::nullopt;
}

// cast(codes), perhaps minus zero: what DequantizeLinear scales.
std::optional<ValueId> FindCodes(Graph& graph, ValueId id) {
  if (IsScalarOp(graph, id, ScalarOp::kSub) && IsZero(graph, graph[id].operands[1])) {
    id = graph[id].operands[0];
  }
  if (!IsOp(graph, id, Op::kCast)) return std::nullopt;
  const ValueId codes = graph[id].operands[0];
  return IsFloat8(graph[codes].type.dtype) ? std::optional(codes) : Narrowed(graph, codes);
}

std::optional<Scaled> FindScaled(Graph& graph, ValueId id) {
  if (IsOp(graph, id, Op::kCast) && graph[graph[id].operands[0]].type.dtype == DType::kF32) {
    id = graph[id].operands[0];  // to the type that the model computes in
  }
  if (IsOp(graph, id, Op::kTranspose)) {
    const Dims perm = graph[id].Ints("perm");
    std::optional<Scaled> inner = FindScaled(graph, graph[id].operands[0]);
    if (!inner || perm != Dims{1, 0}) return std::nullopt;
    inner->codes = AddTranspose(graph, inner->codes, perm);
    if (inner->scale != kNoValue && graph[inner->scale].type.rank() == 2) {
      inner->scale = AddTranspose(graph, inner->scale, perm);
    }
    return inner;
  }
  if (const std::optional<ValueId> codes = FindCodes(graph, id)) return Scaled{*codes, kNoValue};
  if (!IsScalarOp(graph, id, ScalarOp::kMul)) return std::nullopt;
  const ValueId scale = graph[id].operands[1];
  if (graph[scale].type.dtype != DType::kF32) return std::nullopt;
  const Dims dims = graph[id].type.dims;
  const std::optional<ValueId> codes = FindCodes(graph, graph[id].operands[0]);
  if (!codes || graph[*codes].type.dims != dims) return std::nullopt;
  return Scaled{*codes, scale};
}

// The scales of columns as a factor of the result; nothing if they vary along what is summed.
std::optional<ValueId> FactorOfColumns(Graph& graph, const Value& product, ValueId scale) {
  if (graph[scale].type.NumElements() == 1) return AddReshape(graph, scale, {});
  const int64_t columns = product.type.dims.back();
  const Dims& dims = graph[scale].type.dims;
  if (dims.empty() || dims.back() != columns || graph[scale].type.NumElements() != columns) {
    return std::nullopt;
  }
  return AddReshape(graph, scale, {columns});
}

// The scales of rows, one or one for each row, as a factor of the result.
std::optional<ValueId> FactorOfRows(Graph& graph, const Value& product, ValueId scale) {
  if (graph[scale].type.NumElements() == 1) return AddReshape(graph, scale, {});
  Dims dims = product.type.dims;
  dims.back() = 1;
  if (graph[scale].type.dims != dims) return std::nullopt;
  return scale;
}

bool HasKernel(const Graph& graph, const Value& product) {
  const Dims& x = graph[product.operands[0]].type.dims;
  const Dims& w = graph[product.operands[1]].type.dims;
  if (w.size() != 2 || product.type.NumElements() == 0) return false;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < x.size(); ++i) rows *= x[i];
  return rows >= kMinRows && w[1] >= kMinColumns && w[0] >= kMinDepth && w[0] % kPieceElements == 0;
}

bool IsConstantMatrix(const Graph& graph, ValueId id) {
  if (IsOp(graph, id, Op::kTranspose)) id = graph[id].operands[0];
  return IsConstant(graph, id);
}

std::optional<ValueId> Multiplied(Graph& graph, const Value& product, bool blocks) {
  if (!HasKernel(graph, product)) return std::nullopt;
  if (blocks) {
    if (const std::optional<ValueId> scaled = MultipliedBlocks(graph, product)) return scaled;
  }
  const std::optional<Scaled> x = FindScaled(graph, product.operands[0]);
  const std::optional<Scaled> w = x ? FindScaled(graph, product.operands[1]) : std::nullopt;
  if (!w || !IsConstantMatrix(graph, w->codes)) return std::nullopt;
  std::optional<ValueId> factor;
  if (x->scale != kNoValue) {
    factor = FactorOfRows(graph, product, x->scale);
    if (!factor) return std::nullopt;
  }
  if (w->scale != kNoValue) {
    const std::optional<ValueId> of_columns = FactorOfColumns(graph, product, w->scale);
    if (!of_columns) return std::nullopt;
    factor = factor ? AddFolded(graph, ScalarOp::kMul, {*factor, *of_columns}) : *of_columns;
  }
  Value sums = product;
  sums.operands = {x->codes, w->codes};
  sums.attrs.erase("precision");
  sums.type = {DType::kF32, product.type.dims, {}};
  ValueId result = AddNode(graph, std::move(sums));
  if (factor) result = AddPointwise(graph, ScalarOp::kMul, {result, *factor});
  return Cast(graph, result, product.type.dtype);
}

}  // namespace

Result<bool> MultiplyFloat8(Graph& graph, const Float8Products& taken) {
  bool any = false;
  for (ValueId id = 0; id < graph.size() && !any; ++id) any = IsFloat8(graph[id].type.dtype);
  if (!any) return false;
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    const DType dtype = node.type.dtype;
    const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    const bool may = node.op == Op::kMatMul && (narrow || (taken.wide && dtype == DType::kF32));
    const std::optional<ValueId> result = may ? Multiplied(out, node, taken.blocks) : std::nullopt;
    return result ? *result : out.Add(node);
  });
}

}  // namespace mlc::graph
