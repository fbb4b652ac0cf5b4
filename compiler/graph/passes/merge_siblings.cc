#include "compiler/graph/passes/merge_siblings.h"

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
  ValueId weights = kNoValue;   // the constant, or a dequantize node of constants
  ValueId bias_add = kNoValue;  // the only reader, if it adds a constant [N]
};

struct FamilyKey {
  ValueId x;
  bool transposed;
  std::string form = {};  // of weights of few bits: what they have in common
  auto operator<=>(const FamilyKey&) const = default;
};
using Families = std::map<FamilyKey, std::vector<Sibling>>;

ValueId BiasAdd(const Graph& graph, const std::vector<std::vector<ValueId>>& users,
                ValueId product) {
  const std::vector<ValueId>& readers = users[static_cast<size_t>(product)];
  if (readers.size() != 1 || !IsScalarOp(graph, readers[0], ScalarOp::kAdd)) return kNoValue;
  const Value& add = graph[readers[0]];
  if (add.operands[0] != product || !IsConstant(graph, add.operands[1])) return kNoValue;
  const bool fits = graph[add.operands[1]].type.dims == std::vector<int64_t>{add.type.dims.back()};
  return fits && add.type.dims == graph[product].type.dims ? readers[0] : kNoValue;
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
  const std::vector<std::vector<ValueId>> users = graph.Users();
  std::vector<bool> is_output(static_cast<size_t>(graph.size()), false);
  for (const ValueId output : graph.outputs()) is_output[static_cast<size_t>(output)] = true;
  Families families;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kMatMul || node.type.rank() != 2) continue;
    ValueId weights = node.operands[1];
    const bool transposed = IsOp(graph, weights, Op::kTranspose);
    if (transposed) weights = graph[weights].operands[0];
    const std::string form = transposed ? std::string() : PackedForm(graph, graph[weights]);
    if (form.empty() && (!IsConstant(graph, weights) || !graph[weights].data)) continue;
    if (graph[weights].type.NumElements() == 0) continue;
    // The scales of products of float8 would not follow the joined one.
    if (IsFloat8(graph[weights].type.dtype)) continue;
    const ValueId bias = is_output[static_cast<size_t>(id)] ? kNoValue : BiasAdd(graph, users, id);
    families[{node.operands[0], transposed, form}].push_back({id, weights, bias});
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

TensorDataRef JoinBiases(const Graph& graph, const std::vector<Sibling>& siblings) {
  std::vector<std::byte> bytes;
  int64_t count = 0;
  DType dtype = DType::kF32;
  for (const Sibling& sibling : siblings) {
    const TensorDataRef bias = ConstantData(graph[graph[sibling.bias_add].operands[1]]);
    bytes.insert(bytes.end(), bias->bytes.begin(), bias->bytes.end());
    count += bias->dims[0];
    dtype = bias->dtype;
  }
  return MakeTensorData(dtype, {count}, std::move(bytes));
}

ValueId JoinWeights(Graph& graph, const FamilyKey& key, const std::vector<Sibling>& siblings) {
  std::vector<ValueId> weights;
  for (const Sibling& sibling : siblings) weights.push_back(sibling.weights);
  if (key.form.empty()) {
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
  bool biased = true;
  for (const Sibling& sibling : siblings) biased = biased && sibling.bias_add != kNoValue;
  if (biased) {
    const ValueId bias = graph.Constant(JoinBiases(graph, siblings));
    merged = AddPointwise(graph, ScalarOp::kAdd, {merged, bias});
  }
  int64_t start = 0;
  for (const Sibling& sibling : siblings) {
    const ValueId replaced = biased ? sibling.bias_add : sibling.product;
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
