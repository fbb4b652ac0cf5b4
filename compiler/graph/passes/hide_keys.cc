#include "compiler/graph/passes/hide_keys.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/passes/regroup.h"
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

// Keys or values [.., keys, width] without their mask of this length, if they have one, also below
// changes of shape that leave the last two axes. What the lengths are is compared by value: equal
// computations are one value.
ValueId Unmasked(Graph& graph, ValueId id, ValueId length, int64_t keys) {
  const Value node = graph[id];
  const std::vector<int64_t>& dims = node.type.dims;
  if (node.op == Op::kReshape || node.op == Op::kExpand) {
    const std::vector<int64_t>& below = graph[node.operands[0]].type.dims;
    if (below.size() < 2 || dims.size() < 2 ||
        !std::equal(dims.end() - 2, dims.end(), below.end() - 2)) {
      return id;
    }
    const ValueId x = Unmasked(graph, node.operands[0], length, keys);
    if (x == node.operands[0]) return id;
    return node.op == Op::kReshape ? SimplifiedReshape(graph, x, dims)
                                   : SimplifiedExpand(graph, x, dims);
  }
  const std::optional<Masked> masked = FindMask(graph, id, 1, keys, 0);
  const bool is_whole = masked && graph[masked->x].type.dims == dims;
  return is_whole && masked->length == length ? masked->x : id;
}

ValueId Hide(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  const bool has_mask =
      node.op == Op::kAttention && node.operands.size() == 4 && node.operands[3] != kNoValue;
  if (!has_mask) return graph.Add(node);
  const int64_t keys = graph[node.operands[1]].type.dims[2];
  const std::optional<Masked> mask = FindMask(graph, node.operands[3], 0, keys, -kInfinity);
  if (!mask) return graph.Add(node);
  const std::vector<int64_t>& dims = graph[mask->x].type.dims;
  const bool is_zero = SplatOf(graph, mask->x) == 0.0;
  if (!is_zero && (dims.empty() || dims.back() != keys)) return graph.Add(node);
  Value attention = node;
  attention.operands[3] = is_zero ? kNoValue : mask->x;
  attention.operands.push_back(mask->length);
  for (size_t k = 1; k < 3; ++k) {
    attention.operands[k] = Unmasked(graph, node.operands[k], mask->length, keys);
  }
  return AddNode(graph, std::move(attention));
}

}  // namespace

Result<bool> HideKeys(Graph& graph) { return Rewriter::Run(graph, Hide); }

}  // namespace mlc::graph
