#include "compiler/graph/passes/rewrite.h"

#include <cstring>

#include "base/check.h"
#include "compiler/graph/passes/fold_constants.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

bool Rewriter::Run(Graph& graph, const Visit& visit) {
  std::vector<int> reads(static_cast<size_t>(graph.size()), 0);
  const std::vector<std::vector<ValueId>> users = graph.Users();
  for (size_t i = 0; i < users.size(); ++i) reads[i] = static_cast<int>(users[i].size());
  for (const ValueId output : graph.outputs()) ++reads[static_cast<size_t>(output)];

  Rewriter rewriter;
  std::vector<ValueId> replaced(static_cast<size_t>(graph.size()), kNoValue);
  for (ValueId id = 0; id < graph.size(); ++id) {
    Value node = graph[id];
    for (ValueId& operand : node.operands) {
      if (operand != kNoValue) operand = replaced[static_cast<size_t>(operand)];
    }
    const ValueId to = visit(rewriter, node);
    replaced[static_cast<size_t>(id)] = to;
    if (rewriter.out_[to].name.empty()) rewriter.out_[to].name = node.name;
    rewriter.uses_.resize(static_cast<size_t>(rewriter.out_.size()), -1);
    int& uses = rewriter.uses_[static_cast<size_t>(to)];
    uses = (uses < 0 ? 0 : uses) + reads[static_cast<size_t>(id)];
  }
  for (const ValueId output : graph.outputs()) {
    rewriter.out_.outputs().push_back(replaced[static_cast<size_t>(output)]);
  }
  rewriter.out_.output_names() = graph.output_names();
  rewriter.out_.Compact();
  const bool changed = !SameStructure(graph, rewriter.out_);
  if (changed) graph = std::move(rewriter.out_);
  return changed;
}

int Rewriter::Uses(ValueId id) const {
  const auto index = static_cast<size_t>(id);
  return index < uses_.size() && uses_[index] >= 0 ? uses_[index] : 1;
}

ValueId AddNode(Graph& graph, Value node) {
  const Result<ValueId> id = AddInferred(graph, std::move(node));
  MLC_CHECK(id.ok()) << id.status().message();
  return *id;
}

ValueId AddPointwise(Graph& graph, ScalarOp op, std::vector<ValueId> operands) {
  Value node;
  node.op = Op::kPointwise;
  node.scalar = op;
  node.operands = std::move(operands);
  return AddNode(graph, std::move(node));
}

ValueId AddReshape(Graph& graph, ValueId x, std::vector<int64_t> dims) {
  if (graph[x].type.dims == dims) return x;
  Value node;
  node.op = Op::kReshape;
  node.operands = {x};
  node.type.dtype = graph[x].type.dtype;
  node.type.dims = std::move(dims);
  if (const std::optional<ValueId> folded = TryFold(graph, node)) return *folded;
  return AddNode(graph, std::move(node));
}

ValueId AddTranspose(Graph& graph, ValueId x, std::vector<int64_t> perm) {
  Value node;
  node.op = Op::kTranspose;
  node.operands = {x};
  node.attrs["perm"] = std::move(perm);
  return AddNode(graph, std::move(node));
}

ValueId AddFolded(Graph& graph, ScalarOp op, std::vector<ValueId> operands) {
  const ValueId id = AddPointwise(graph, op, std::move(operands));
  const Value node = graph[id];
  return TryFold(graph, node).value_or(id);
}

bool IsOp(const Graph& graph, ValueId id, Op op) { return id != kNoValue && graph[id].op == op; }

bool IsScalarOp(const Graph& graph, ValueId id, ScalarOp op) {
  return IsOp(graph, id, Op::kPointwise) && graph[id].scalar == op;
}

bool IsConstant(const Graph& graph, ValueId id) {
  return IsOp(graph, id, Op::kConstant) && !graph[id].Has("data");
}

std::optional<double> SplatOf(const Graph& graph, ValueId id) {
  if (!IsConstant(graph, id)) return std::nullopt;
  const Value& node = graph[id];
  if (node.Has("value")) return node.Float("value");
  const std::span<const std::byte> bytes = node.data->bytes;
  const auto size = static_cast<size_t>(SizeOf(node.type.dtype));
  if (bytes.size() < size) return std::nullopt;
  // Every element equals the one before it.
  if (std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) != 0) {
    return std::nullopt;
  }
  return ReadDouble(*node.data, 0);
}

bool SameStructure(const Graph& a, const Graph& b) {
  if (a.size() != b.size() || a.outputs() != b.outputs()) return false;
  for (ValueId id = 0; id < a.size(); ++id) {
    const Value& x = a[id];
    const Value& y = b[id];
    if (x.op != y.op || (x.op == Op::kPointwise && x.scalar != y.scalar) ||
        x.operands != y.operands || x.attrs != y.attrs || x.type != y.type || x.data != y.data) {
      return false;
    }
  }
  return true;
}

int64_t BytesOf(const TensorType& type) { return type.NumElements() * SizeOf(type.dtype); }

}  // namespace mlc::graph
