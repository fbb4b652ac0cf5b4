#include "compiler/graph/passes/fold_constants.h"

#include <algorithm>

#include "compiler/graph/evaluate.h"
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

bool WorthFolding(const Value& node) {
  const int64_t bytes = BytesOf(node.type);
  if (node.op == Op::kReshape) return true;
  const bool moves = (node.op >= Op::kTranspose && node.op <= Op::kPad) || node.op == Op::kTile;
  return bytes <= (moves ? kMaxMovedBytes : kMaxFoldedBytes);
}

}  // namespace

std::optional<ValueId> TryFold(Graph& graph, const Value& node) {
  if (node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant ||
      node.op == Op::kView || node.op == Op::kCopy || node.operands.empty()) {
    return std::nullopt;
  }
  if (node.type.NumElements() == 0) return AddSplat(graph, node, 0);
  bool splats = true;
  for (const ValueId operand : node.operands) {
    if (operand == kNoValue) continue;
    if (!IsKnown(graph, operand)) return std::nullopt;
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
    operands.push_back(operand == kNoValue ? nullptr : DataOf(graph[operand]));
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
