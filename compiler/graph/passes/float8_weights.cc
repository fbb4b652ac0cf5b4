#include "compiler/graph/passes/float8_weights.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/float8_codes.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

// A matrix of float8 times scales; `is_transposed`: what reads it sees the transpose.
struct ScaledMatrix {
  TensorDataRef codes;
  TensorDataRef scales;  // f32, one or one for each column; null: 1
  bool is_transposed = false;

  int64_t depth() const { return codes->dims[is_transposed ? 1 : 0]; }
  int64_t columns() const { return codes->dims[is_transposed ? 0 : 1]; }
};

TensorDataRef CodesOf(const Graph& graph, ValueId id) {
  if (IsScalarOp(graph, id, ScalarOp::kSub) && SplatOf(graph, graph[id].operands[1]) == 0.0) {
    id = graph[id].operands[0];
  }
  if (!IsOp(graph, id, Op::kCast) || graph[id].type.dtype != DType::kF32) return nullptr;
  const Value& constant = graph[graph[id].operands[0]];
  if (constant.op != Op::kConstant || !constant.data || constant.type.rank() != 2) return nullptr;
  if (constant.type.NumElements() == 0) return nullptr;
  const std::optional<TensorDataRef> codes = AsFloat8(constant.data);
  return codes && IsFinite(**codes) ? *codes : nullptr;
}

// One scale, or one for each column of the matrix that is read.
bool FitsColumns(const TensorData& scales, const ScaledMatrix& matrix) {
  TensorType type{scales.dtype, scales.dims, {}};
  if (type.NumElements() == 1) return true;
  if (type.NumElements() != matrix.columns()) return false;
  const size_t along = matrix.is_transposed ? 2 : 1;  // from the last dimension
  return type.dims.size() >= along && type.dims[type.dims.size() - along] == matrix.columns();
}

std::optional<ScaledMatrix> FindScaled(const Graph& graph, ValueId id) {
  ScaledMatrix matrix;
  while (true) {
    const Value& node = graph[id];
    const bool rounds = node.op == Op::kCast && graph[node.operands[0]].type.dtype == DType::kF32;
    const bool turns = node.op == Op::kTranspose && node.Ints("perm") == std::vector<int64_t>{1, 0};
    if (!rounds && !turns) break;
    if (turns) matrix.is_transposed = !matrix.is_transposed;
    id = node.operands[0];
  }
  ValueId codes = id;
  if (IsScalarOp(graph, id, ScalarOp::kMul)) {
    codes = graph[id].operands[0];
    matrix.scales = ConstantData(graph[graph[id].operands[1]]);
    if (matrix.scales == nullptr || matrix.scales->dtype != DType::kF32) return std::nullopt;
    if (graph[codes].type.dims != graph[id].type.dims) return std::nullopt;
  }
  matrix.codes = CodesOf(graph, codes);
  if (matrix.codes == nullptr) return std::nullopt;
  if (matrix.scales != nullptr && !FitsColumns(*matrix.scales, matrix)) return std::nullopt;
  return matrix;
}

// [columns, depth].
TensorDataRef CodesByColumns(const ScaledMatrix& matrix) {
  if (matrix.is_transposed) return matrix.codes;
  constexpr int64_t kTile = 64;
  const int64_t depth = matrix.depth(), columns = matrix.columns();
  const std::byte* from = matrix.codes->bytes.data();
  std::vector<std::byte> bytes(matrix.codes->bytes.size());
  for (int64_t k = 0; k < depth; k += kTile) {
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t i = k; i < std::min(depth, k + kTile); ++i) {
        bytes[static_cast<size_t>(n * depth + i)] = from[i * columns + n];
      }
    }
  }
  return MakeTensorData(matrix.codes->dtype, {columns, depth}, std::move(bytes));
}

// [columns, 1] of the type; null if it does not hold them exactly.
TensorDataRef ScalesByColumns(const ScaledMatrix& matrix, DType dtype) {
  std::vector<double> scales = {1};
  if (matrix.scales != nullptr) scales = ReadDoubles(*matrix.scales);
  scales.resize(static_cast<size_t>(matrix.columns()), scales[0]);
  const TensorDataRef stored = WriteDoubles(dtype, {matrix.columns(), 1}, scales);
  return ReadDoubles(*stored) == scales ? stored : nullptr;
}

bool IsRead(const Graph& graph, const Value& product, const PackedReads& reads) {
  const TensorType& columns = graph[product.operands[1]].type;
  const DType dtype = columns.dtype;
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  if (!narrow && !(reads.narrows && dtype == DType::kF32)) return false;
  if (columns.rank() != 2 || product.type.NumElements() == 0) return false;
  return product.type.NumElements() / product.type.dims.back() <= reads.rows;
}

// The dequantize node of the product's columns; kNoValue if they are none of this form.
ValueId Packed(Graph& graph, ValueId columns) {
  const DType dtype = graph[columns].type.dtype;
  const std::optional<ScaledMatrix> matrix = FindScaled(graph, columns);
  if (!matrix) return kNoValue;
  const TensorDataRef scales = ScalesByColumns(*matrix, dtype);
  if (scales == nullptr) return kNoValue;
  Value node;
  node.op = Op::kDequantize;
  node.operands = {graph.Constant(CodesByColumns(*matrix)), graph.Constant(scales)};
  node.attrs["bits"] = int64_t{8};
  node.attrs["block"] = matrix->depth();
  node.attrs["depth"] = matrix->depth();
  node.attrs["zero"] = int64_t{0};
  node.type.dtype = dtype;
  return AddNode(graph, std::move(node));
}

}  // namespace

Result<bool> PackFloat8Weights(Graph& graph, const PackedReads& reads) {
  if (!reads.float8 || reads.rows == 0) return false;
  std::map<ValueId, ValueId> packed;  // by what was there
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    if (node.op != Op::kMatMul || !IsRead(out, node, reads)) return out.Add(node);
    const auto [found, is_new] = packed.try_emplace(node.operands[1], kNoValue);
    if (is_new) found->second = Packed(out, node.operands[1]);
    if (found->second == kNoValue) return out.Add(node);
    Value product = node;
    product.operands[1] = found->second;
    return out.Add(std::move(product));
  });
}

}  // namespace mlc::graph
