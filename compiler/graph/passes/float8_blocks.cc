#include "compiler/graph/passes/float8_blocks.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/graph/float8_codes.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// Elements of k, and columns, that share a scale.
constexpr int64_t kBlock = 128;

// Float8 [..., K] with a scale for each block: f32 [..., K/128].
struct Rows {
  ValueId codes = kNoValue;
  ValueId scales = kNoValue;
};

// Float8 [columns, K] and scales [K/128, columns/128].
struct Columns {
  TensorDataRef codes;
  TensorDataRef scales;
};

ValueId WithoutCast(const Graph& graph, ValueId id) {
  const bool casts =
      IsOp(graph, id, Op::kCast) && graph[graph[id].operands[0]].type.dtype == DType::kF32;
  return casts ? graph[id].operands[0] : id;
}

// Leaves out a slice of everything, which the importer puts behind repeated scales.
ValueId WithoutSlice(const Graph& graph, ValueId id) {
  const bool whole =
      IsOp(graph, id, Op::kSlice) && graph[graph[id].operands[0]].type.dims == graph[id].type.dims;
  return whole ? graph[id].operands[0] : id;
}

// What the value repeats, perhaps of another type.
ValueId Repeated(const Graph& graph, ValueId id) {
  const auto repeats = [](Op op) {
    return op == Op::kReshape || op == Op::kExpand || op == Op::kCast;
  };
  while (repeats(graph[id].op) || WithoutSlice(graph, id) != id) id = graph[id].operands[0];
  return id;
}

ValueId CodesOf(const Graph& graph, ValueId id) {
  if (IsScalarOp(graph, id, ScalarOp::kSub)) {
    const std::optional<double> zero = SplatOf(graph, Repeated(graph, graph[id].operands[1]));
    if (zero != 0.0) return kNoValue;
    id = graph[id].operands[0];
  }
  if (!IsOp(graph, id, Op::kCast) || graph[id].type.dtype != DType::kF32) return kNoValue;
  const ValueId codes = graph[id].operands[0];
  return IsFloat8(graph[codes].type.dtype) ? codes : kNoValue;
}

// [..., K/128] of reshape(expand(reshape(scales, [..., K/128, 1]), [..., K/128, 128]), [..., K]).
ValueId RepeatedScales(const Graph& graph, ValueId id, const Dims& blocks) {
  id = WithoutSlice(graph, id);
  if (!IsOp(graph, id, Op::kReshape)) return kNoValue;
  id = graph[id].operands[0];
  Dims split = blocks;
  split.push_back(kBlock);
  if (!IsOp(graph, id, Op::kExpand) || graph[id].type.dims != split) return kNoValue;
  id = graph[id].operands[0];
  split.back() = 1;
  return graph[id].type.dims == split ? id : kNoValue;
}

std::optional<Rows> FindRows(Graph& graph, ValueId id) {
  const Dims dims = graph[id].type.dims;
  Dims blocks = dims;
  blocks.back() /= kBlock;
  id = WithoutCast(graph, id);
  const bool is_split = IsOp(graph, id, Op::kReshape);
  if (is_split) id = WithoutCast(graph, graph[id].operands[0]);
  if (!IsScalarOp(graph, id, ScalarOp::kMul)) return std::nullopt;
  const Dims scaled = graph[id].type.dims;
  if (!is_split && scaled != dims) return std::nullopt;
  if (is_split && (scaled.size() < 2 || scaled.back() != kBlock)) return std::nullopt;
  if (is_split && scaled[scaled.size() - 2] != blocks.back()) return std::nullopt;
  const ValueId factor = graph[id].operands[1];
  const ValueId codes = CodesOf(graph, graph[id].operands[0]);
  if (codes == kNoValue || graph[codes].type.dims != scaled) return std::nullopt;
  const ValueId scales = is_split ? factor : RepeatedScales(graph, factor, blocks);
  if (scales == kNoValue || graph[scales].type.dtype != DType::kF32) return std::nullopt;
  Dims ones = scaled;
  ones.back() = 1;
  if (is_split && graph[scales].type.dims != ones) return std::nullopt;
  return Rows{AddReshape(graph, codes, dims), AddReshape(graph, scales, blocks)};
}

// Of a matrix that is packed, [columns, K/128]; null if columns side by side differ.
TensorDataRef SharedScales(const TensorData& scales) {
  const int64_t columns = scales.dims[0], blocks = scales.dims[1];
  const std::vector<double> numbers = ReadDoubles(scales);
  const int64_t wide = (columns + kBlock - 1) / kBlock;
  std::vector<double> shared(static_cast<size_t>(blocks * wide));
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t k = 0; k < blocks; ++k) {
      const double number = numbers[static_cast<size_t>(n * blocks + k)];
      double& first = shared[static_cast<size_t>(k * wide + n / kBlock)];
      if (n % kBlock == 0) first = number;
      if (first != number) return nullptr;
    }
  }
  return WriteDoubles(DType::kF32, {blocks, wide}, shared);
}

std::optional<Columns> FindColumns(const Graph& graph, ValueId id) {
  bool turned = false;
  while (IsOp(graph, id, Op::kTranspose) || WithoutCast(graph, id) != id) {
    turned = turned != IsOp(graph, id, Op::kTranspose);
    id = graph[id].operands[0];
  }
  const Value& node = graph[id];
  if (turned || node.op != Op::kDequantize || node.Int("block") != kBlock) return std::nullopt;
  const TensorDataRef codes = ConstantData(graph[node.operands[0]]);
  const TensorDataRef scales = ConstantData(graph[node.operands[1]]);
  if (codes == nullptr || scales == nullptr || !IsFloat8(codes->dtype)) return std::nullopt;
  const TensorDataRef shared = SharedScales(*scales);
  return shared ? std::optional(Columns{codes, shared}) : std::nullopt;
}

}  // namespace

std::optional<ValueId> MultipliedBlocks(Graph& graph, const Value& product) {
  const Dims x = graph[product.operands[0]].type.dims;
  if (x.back() % kBlock != 0) return std::nullopt;
  const std::optional<Columns> columns = FindColumns(graph, product.operands[1]);
  const std::optional<Rows> rows = columns ? FindRows(graph, product.operands[0]) : std::nullopt;
  if (!rows) return std::nullopt;
  const int64_t depth = x.back(), count = graph[rows->codes].type.NumElements() / depth;
  Value sums;
  sums.op = Op::kMatMul;
  sums.operands = {AddReshape(graph, rows->codes, {count, depth}),
                   AddTranspose(graph, graph.Constant(columns->codes), {1, 0}),
                   AddReshape(graph, rows->scales, {count, depth / kBlock}),
                   graph.Constant(columns->scales)};
  sums.attrs["block"] = kBlock;
  sums.attrs["across"] = kBlock;
  sums.name = product.name;
  const ValueId result = AddReshape(graph, AddNode(graph, std::move(sums)), product.type.dims);
  if (product.type.dtype == DType::kF32) return result;
  Value cast;
  cast.op = Op::kCast;
  cast.operands = {result};
  cast.type = {product.type.dtype, product.type.dims, {}};
  return AddNode(graph, std::move(cast));
}

}  // namespace mlc::graph
