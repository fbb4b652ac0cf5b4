#include "compiler/graph/passes/hide_keys.h"

#include <limits>
#include <optional>
#include <vector>

#include "compiler/graph/passes/dce.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A selection of the elements before a length on an axis; others are `fill`.
struct Masked {
  ValueId x = kNoValue;
  ValueId length = kNoValue;
};

// 0, 1, ... along the axis that has `behind` axes of length 1 behind it.
bool ArePlaces(const Graph& graph, ValueId id, int64_t size, size_t behind) {
  const Value& node = graph[id];
  if (node.op != Op::kConstant || node.data == nullptr || node.type.NumElements() != size) {
    return false;
  }
  const std::vector<int64_t>& dims = node.type.dims;
  if (dims.size() <= behind || dims[dims.size() - 1 - behind] != size) return false;
  const std::vector<double> values = ReadDoubles(*node.data);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<double>(i)) return false;
  }
  return true;
}

std::optional<Masked> FindMask(const Graph& graph, ValueId id, size_t behind, int64_t size,
                               double fill) {
  if (!IsScalarOp(graph, id, ScalarOp::kSelect)) return std::nullopt;
  const std::vector<ValueId>& operands = graph[id].operands;
  if (SplatOf(graph, operands[2]) != fill || !IsScalarOp(graph, operands[0], ScalarOp::kLess)) {
    return std::nullopt;
  }
  const std::vector<ValueId>& less = graph[operands[0]].operands;
  const TensorType& length = graph[less[1]].type;
  if (!ArePlaces(graph, less[0], size, behind) || length.dtype != DType::kI32 ||
      length.dims != std::vector<int64_t>{1}) {
    return std::nullopt;
  }
  return Masked{operands[1], less[1]};
}

// What the lengths are is compared by value: equal computations are one value.
void Unmask(const Graph& graph, Value& attention, size_t operand, ValueId length) {
  const ValueId id = attention.operands[operand];
  const int64_t keys = graph[id].type.dims[2];
  const std::optional<Masked> masked = FindMask(graph, id, 1, keys, 0);
  if (!masked || masked->length != length || graph[masked->x].type.dims != graph[id].type.dims) {
    return;
  }
  attention.operands[operand] = masked->x;
}

bool Hide(Graph& graph, ValueId id) {
  Value attention = graph[id];
  if (attention.operands.size() != 4 || attention.operands[3] == kNoValue) return false;
  const int64_t keys = graph[attention.operands[1]].type.dims[2];
  const std::optional<Masked> mask = FindMask(graph, attention.operands[3], 0, keys, -kInfinity);
  if (!mask) return false;
  const std::vector<int64_t>& dims = graph[mask->x].type.dims;
  const bool is_zero = SplatOf(graph, mask->x) == 0.0;
  if (!is_zero && (dims.empty() || dims.back() != keys)) return false;
  attention.operands[3] = is_zero ? kNoValue : mask->x;
  attention.operands.push_back(mask->length);
  Unmask(graph, attention, 1, mask->length);
  Unmask(graph, attention, 2, mask->length);
  graph[id].operands = std::move(attention.operands);
  return true;
}

}  // namespace

Result<bool> HideKeys(Graph& graph) {
  bool changed = false;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kAttention) changed |= Hide(graph, id);
  }
  if (changed) MLC_TRY(EliminateDeadCode(graph).status());
  return changed;
}

}  // namespace mlc::graph
