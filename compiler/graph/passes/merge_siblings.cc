#include "compiler/graph/passes/merge_siblings.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

// One product of a family: its weights, stored [K,N] or read through a transpose of [N,K], or of
// few bits.
struct Sibling {
  ValueId product = kNoValue;
  ValueId weights = kNoValue;  // the constant, or a dequantize node of constants
  // What each column goes through next, of the kinds of ColumnStep; each is the only reader of the
  // one before.
  std::vector<ValueId> steps;
};

struct FamilyKey {
  ValueId x;
  bool transposed;
  std::string form = {};  // of weights of few bits and of float8: what they have in common
  auto operator<=>(const FamilyKey&) const = default;
};
using Families = std::map<FamilyKey, std::vector<Sibling>>;
using Users = std::vector<std::vector<ValueId>>;

enum class ColumnStep { kNone, kBias, kScale, kCast };

// How the reader treats the columns of `x`: it adds or multiplies by a constant, or casts.
ColumnStep StepOf(const Graph& graph, ValueId reader, ValueId x) {
  const Value& node = graph[reader];
  if (node.op == Op::kCast) return ColumnStep::kCast;
  const bool adds = IsScalarOp(graph, reader, ScalarOp::kAdd);
  if (!adds && !IsScalarOp(graph, reader, ScalarOp::kMul)) return ColumnStep::kNone;
  if (node.operands[0] != x || !IsConstant(graph, node.operands[1])) return ColumnStep::kNone;
  if (node.type.dims != graph[x].type.dims) return ColumnStep::kNone;
  const TensorType& constant = graph[node.operands[1]].type;
  const bool one = !adds && constant.rank() == 0;
  if (!one && constant.dims != std::vector<int64_t>{node.type.dims.back()})
    return ColumnStep::kNone;
  return adds ? ColumnStep::kBias : ColumnStep::kScale;
}

// The only reader of `x`, if it treats columns so.
ValueId NextStep(const Graph& graph, const Users& users, ValueId x, ColumnStep step) {
  const std::vector<ValueId>& readers = users[static_cast<size_t>(x)];
  const std::vector<ValueId>& outputs = graph.outputs();
  if (readers.size() != 1 || std::find(outputs.begin(), outputs.end(), x) != outputs.end()) {
    return kNoValue;
  }
  return StepOf(graph, readers[0], x) == step ? readers[0] : kNoValue;
}

// What follows the product of float8: its scales, the type of the model and a bias. Nothing if
// there are no scales, which would not follow a joined product, or if each result is computed with
// further, which the product's kernel does.
std::vector<ValueId> StepsOfFloat8(const Graph& graph, const Users& users, ValueId product) {
  std::vector<ValueId> steps;
  ValueId last = product;
  for (const ColumnStep step : {ColumnStep::kScale, ColumnStep::kCast, ColumnStep::kBias}) {
    const ValueId next = NextStep(graph, users, last, step);
    if (next == kNoValue && step == ColumnStep::kScale) return {};
    if (next != kNoValue) steps.push_back(last = next);
  }
  for (const ValueId reader : users[static_cast<size_t>(last)]) {
    if (graph[reader].op == Op::kPointwise) return {};
  }
  return steps;
}

// What dequantize nodes have in common whose operands can be joined; empty for other nodes.
std::string PackedForm(const Graph& graph, const Value& node) {
  if (node.op != Op::kDequantize) return {};
  std::string form(ToText(node.type.dtype));
  for (const char* name : {"bits", "block", "depth", "zero"}) {
    form += ' ' + std::to_string(node.Int(name));
  }
  for (const ValueId operand : node.operands) {
    const Value& part = graph[operand];
    if (!IsConstant(graph, operand) || !part.data) return {};
    form += ' ' + std::string(ToText(part.type.dtype)) + std::to_string(part.type.dims[1]);
  }
  return form;
}

Families FindFamilies(const Graph& graph) {
  const Users users = graph.Users();
  Families families;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kMatMul || node.type.rank() != 2 || node.operands.size() > 2) continue;
    ValueId weights = node.operands[1];
    const bool transposed = IsOp(graph, weights, Op::kTranspose);
    if (transposed) weights = graph[weights].operands[0];
    std::string form = transposed ? std::string() : PackedForm(graph, graph[weights]);
    if (form.empty() && (!IsConstant(graph, weights) || !graph[weights].data)) continue;
    if (graph[weights].type.NumElements() == 0) continue;
    std::vector<ValueId> steps;
    if (IsFloat8(graph[weights].type.dtype)) {
      steps = StepsOfFloat8(graph, users, id);
      if (steps.empty()) continue;
      form = ToText(graph[weights].type.dtype);
    } else if (const ValueId bias = NextStep(graph, users, id, ColumnStep::kBias);
               bias != kNoValue) {
      steps = {bias};
    }
    families[{node.operands[0], transposed, std::move(form)}].push_back(
        {id, weights, std::move(steps)});
  }
  std::erase_if(families, [](const auto& family) { return family.second.size() < 2; });
  return families;
}

// Matrices of equal height side by side, or of equal width (transposed) one below the other.
TensorDataRef Join(const Graph& graph, const std::vector<ValueId>& matrices, bool transposed) {
  const size_t axis = transposed ? 0 : 1;
  const Value& first = graph[matrices[0]];
  std::vector<int64_t> dims = first.type.dims;
  dims[axis] = 0;
  for (const ValueId matrix : matrices) dims[axis] += graph[matrix].type.dims[axis];
  const auto size = static_cast<size_t>(SizeOf(first.type.dtype));
  const size_t rows = transposed ? 1 : static_cast<size_t>(dims[0]);
  const size_t pitch = static_cast<size_t>(dims[0] * dims[1]) / rows * size;
  std::vector<std::byte> bytes(rows * pitch);
  size_t column = 0;
  for (const ValueId matrix : matrices) {
    const TensorData& data = *graph[matrix].data;
    const size_t width = data.bytes.size() / rows;
    for (size_t row = 0; row < rows; ++row) {
      std::memcpy(bytes.data() + row * pitch + column, data.bytes.data() + row * width, width);
    }
    column += width;
  }
  return MakeTensorData(first.type.dtype, std::move(dims), std::move(bytes));
}

// The constants of a step of all siblings, one number for each column.
TensorDataRef JoinConstants(const Graph& graph, const std::vector<Sibling>& siblings, size_t step) {
  std::vector<std::byte> bytes;
  int64_t count = 0;
  DType dtype = DType::kF32;
  for (const Sibling& sibling : siblings) {
    const Value& node = graph[sibling.steps[step]];
    const TensorDataRef constant = ConstantData(graph[node.operands[1]]);
    const int64_t copies = constant->dims.empty() ? node.type.dims.back() : 1;
    for (int64_t i = 0; i < copies; ++i) {
      bytes.insert(bytes.end(), constant->bytes.begin(), constant->bytes.end());
    }
    count += node.type.dims.back();
    dtype = constant->dtype;
  }
  return MakeTensorData(dtype, {count}, std::move(bytes));
}

// The steps that all siblings begin with.
size_t SharedSteps(const Graph& graph, const std::vector<Sibling>& siblings) {
  const Sibling& first = siblings[0];
  for (size_t i = 0;; ++i) {
    for (const Sibling& sibling : siblings) {
      if (i >= sibling.steps.size() || i >= first.steps.size()) return i;
      const Value &a = graph[first.steps[i]], &b = graph[sibling.steps[i]];
      if (a.op != b.op || a.scalar != b.scalar || a.type.dtype != b.type.dtype) return i;
    }
  }
}

// The step of all siblings, of what they joined to.
ValueId JoinSteps(Graph& graph, const std::vector<Sibling>& siblings, size_t step, ValueId joined) {
  Value node = graph[siblings[0].steps[step]];
  if (node.op == Op::kPointwise) {
    const ScalarOp op = node.scalar;
    const ValueId constant = graph.Constant(JoinConstants(graph, siblings, step));
    return AddPointwise(graph, op, {joined, constant});
  }
  node.operands = {joined};
  node.type.dims = graph[joined].type.dims;
  return AddNode(graph, std::move(node));
}

ValueId JoinWeights(Graph& graph, const FamilyKey& key, const std::vector<Sibling>& siblings) {
  std::vector<ValueId> weights;
  for (const Sibling& sibling : siblings) weights.push_back(sibling.weights);
  if (graph[weights[0]].op != Op::kDequantize) {
    const ValueId joined = graph.Constant(Join(graph, weights, key.transposed));
    return key.transposed ? AddTranspose(graph, joined, {1, 0}) : joined;
  }
  // Columns are rows of codes, scales and zeros.
  Value packed = graph[weights[0]];
  for (size_t i = 0; i < packed.operands.size(); ++i) {
    std::vector<ValueId> parts;
    for (const ValueId id : weights) parts.push_back(graph[id].operands[i]);
    packed.operands[i] = graph.Constant(Join(graph, parts, true));
  }
  return AddNode(graph, std::move(packed));
}

// Appends the merged product and makes readers of the siblings read its slices.
void Merge(Graph& graph, const FamilyKey& key, const std::vector<Sibling>& siblings) {
  const ValueId weights = JoinWeights(graph, key, siblings);
  Value product;
  product.op = Op::kMatMul;
  product.operands = {key.x, weights};
  product.name = graph[siblings[0].product].name;
  ValueId merged = AddNode(graph, std::move(product));
  const size_t steps = SharedSteps(graph, siblings);
  for (size_t i = 0; i < steps; ++i) merged = JoinSteps(graph, siblings, i, merged);
  int64_t start = 0;
  for (const Sibling& sibling : siblings) {
    const ValueId replaced = steps == 0 ? sibling.product : sibling.steps[steps - 1];
    Value slice;
    slice.op = Op::kSlice;
    slice.operands = {merged};
    slice.attrs["starts"] = std::vector<int64_t>{0, start};
    slice.attrs["steps"] = std::vector<int64_t>{1, 1};
    slice.type = graph[replaced].type;
    start += slice.type.dims[1];
    slice.name = graph[replaced].name;
    graph.ReplaceUses(replaced, AddNode(graph, std::move(slice)));
  }
}

}  // namespace

Result<bool> MergeSiblings(Graph& graph) {
  const Families families = FindFamilies(graph);
  for (const auto& [key, siblings] : families) {
    FamilyKey current = key;
    // An earlier merge may have replaced the operand: the product itself knows.
    current.x = graph[siblings[0].product].operands[0];
    Merge(graph, current, siblings);
  }
  if (!families.empty()) graph.Compact();
  return !families.empty();
}

}  // namespace mlc::graph
