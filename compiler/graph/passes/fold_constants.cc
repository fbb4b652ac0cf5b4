#include "compiler/graph/passes/fold_constants.h"

#include <algorithm>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

constexpr int64_t kMaxFoldedBytes = int64_t{64} << 20;
constexpr int64_t kMaxMovedBytes = int64_t{1} << 20;

// Operators that only choose among elements of operand 0: of a splat they give a splat.
bool Selects(Op op) {
  return op == Op::kTranspose || op == Op::kReshape || op == Op::kExpand || op == Op::kSlice ||
         op == Op::kTile;
}

ValueId AddSplat(Graph& graph, const Value& node, double number) {
  Value splat;
  splat.op = Op::kConstant;
  splat.type.dtype = node.type.dtype;
  splat.type.dims = node.type.dims;
  splat.attrs["value"] = number;
  splat.name = node.name;
  return graph.Add(std::move(splat));
}

bool IsSplat(const Graph& graph, ValueId id) { return graph[id].Has("value"); }

// A value without elements is known whatever computes it.
bool IsKnown(const Graph& graph, ValueId id) {
  return IsConstant(graph, id) || graph[id].type.NumElements() == 0;
}

TensorDataRef DataOf(const Value& value) {
  if (value.type.NumElements() > 0) return ConstantData(value);
  return MakeTensorData(value.type.dtype, value.type.dims, {});
}

// A scalar copy of the node, evaluated once for all elements.
std::optional<ValueId> FoldSplats(Graph& graph, const Value& node) {
  if (Selects(node.op)) return AddSplat(graph, node, graph[node.operands[0]].Float("value"));
  if (node.op != Op::kPointwise && node.op != Op::kCast) return std::nullopt;
  std::vector<TensorDataRef> operands;
  for (const ValueId operand : node.operands) {
    const double number[] = {graph[operand].Float("value")};
    operands.push_back(WriteDoubles(graph[operand].type.dtype, {}, number));
  }
  Value scalar = node;
  scalar.type = {node.type.dtype, {}, {}};
  const Result<TensorDataRef> result = EvaluateNode(scalar, operands);
  if (!result.ok()) return std::nullopt;
  const double number = ReadDouble(**result, 0);
  // A splat is a double: it cannot say every 64-bit integer.
  constexpr double kExact = 9007199254740992.0;
  if (node.type.dtype == DType::kI64 && !(number > -kExact && number < kExact)) return std::nullopt;
  return AddSplat(graph, node, number);
}

// Operators that touch the elements of operand 0 that they give, and no others.
bool ReadsLittle(Op op) {
  return op == Op::kReshape || op == Op::kSlice || op == Op::kGather || op == Op::kGatherND;
}

// Operators whose result is the operand with other strides: kernels read it as well as a copy.
bool IsView(const Value& node) {
  if (node.op == Op::kTranspose || node.op == Op::kReshape) return true;
  if (node.op != Op::kSlice) return false;
  if (!node.Has("steps")) return true;
  const std::vector<int64_t>& steps = node.Ints("steps");
  return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step > 0; });
}

bool WorthFolding(const Value& node) {
  if (node.op == Op::kReshape) return true;
  const bool grows = node.op == Op::kExpand || node.op == Op::kTile;
  return BytesOf(node.type) <= (IsView(node) || grows ? kMaxMovedBytes : kMaxFoldedBytes);
}

// The value's data, if it is known: a constant, or views of one, which stay nodes where they are
// large.
TensorDataRef KnownData(const Graph& graph, ValueId id) {
  if (IsKnown(graph, id)) return DataOf(graph[id]);
  const Value& node = graph[id];
  if (!IsView(node) || BytesOf(graph[node.operands[0]].type) > kMaxFoldedBytes) return nullptr;
  const TensorDataRef operand = KnownData(graph, node.operands[0]);
  if (operand == nullptr) return nullptr;
  const Result<TensorDataRef> result = EvaluateNode(node, {operand});
  return result.ok() ? *result : nullptr;
}

bool IsViewOfConstant(const Graph& graph, ValueId id) {
  while (IsView(graph[id])) id = graph[id].operands[0];
  return IsKnown(graph, id);
}

}  // namespace

std::optional<ValueId> TryFold(Graph& graph, const Value& node) {
  if (node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant ||
      node.op == Op::kView || node.op == Op::kCopy || node.op == Op::kDequantize ||
      node.operands.empty()) {
    return std::nullopt;
  }
  if (node.type.NumElements() == 0) return AddSplat(graph, node, 0);
  bool splats = true;
  for (const ValueId operand : node.operands) {
    if (operand == kNoValue) continue;
    if (!IsKnown(graph, operand) && (IsView(node) || !IsViewOfConstant(graph, operand))) {
      return std::nullopt;
    }
    splats = splats && IsSplat(graph, operand);
  }
  if (splats) {
    if (const std::optional<ValueId> folded = FoldSplats(graph, node)) return folded;
  }
  if (!WorthFolding(node)) return std::nullopt;
  std::vector<TensorDataRef> operands;
  for (const ValueId operand : node.operands) {
    if (operand != kNoValue && BytesOf(graph[operand].type) > kMaxFoldedBytes &&
        !ReadsLittle(node.op)) {
      return std::nullopt;
    }
    operands.push_back(operand == kNoValue ? nullptr : KnownData(graph, operand));
    if (operand != kNoValue && operands.back() == nullptr) return std::nullopt;
  }
  const Result<TensorDataRef> result = EvaluateNode(node, operands);
  if (!result.ok()) return std::nullopt;
  return graph.Constant(*result, node.name);
}

Result<bool> FoldConstants(Graph& graph) {
  return Rewriter::Run(graph, [](Rewriter& rewriter, const Value& node) {
    if (const std::optional<ValueId> folded = TryFold(rewriter.out(), node)) return *folded;
    return rewriter.out().Add(node);
  });
}

}  // namespace mlc::graph
