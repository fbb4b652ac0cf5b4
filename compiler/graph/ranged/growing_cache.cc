#include "compiler/graph/ranged/growing_cache.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

bool IsGrowingCache(const Graph& graph, ValueId join) {
  const Value& node = graph[join];
  if (node.op != Op::kConcat || node.operands.size() != 2) return false;
  const ValueId past = node.operands[0];
  if (past == node.operands[1] || graph[past].op != Op::kInput) return false;
  if (std::ranges::find(graph.outputs(), join) == graph.outputs().end() ||
      std::ranges::find(graph.outputs(), past) != graph.outputs().end()) {
    return false;
  }
  int64_t readers = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    readers += std::ranges::count(graph[id].operands, past);
  }
  return readers == 1;
}

Result<ValueId> WriteBehind(Graph& graph, ValueId join, ValueId length) {
  const Value node = graph[join];
  const ValueId past = node.operands[0], added = node.operands[1];
  const auto axis = static_cast<size_t>(node.Int("axis"));
  const std::vector<int64_t> dims = graph[added].type.dims;
  graph[past].type.dims = node.type.dims;

  std::vector<int64_t> numbers(static_cast<size_t>(dims[axis]));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  std::vector<int64_t> column(dims.size() - axis, 1);
  column[0] = dims[axis];
  const ValueId places = graph.Constant(WriteInts(DType::kI64, column, numbers));
  Value begin;
  begin.op = Op::kCast;
  begin.operands = {length};
  begin.type = {DType::kI64, {1}, {}};
  const ValueId wide = MLC_TRY(AddInferred(graph, std::move(begin)));
  // Never beyond the end, whatever a tuner's random inputs are.
  const int64_t last = node.type.dims[axis] - dims[axis];
  const ValueId limit = graph.Constant(WriteInts(DType::kI64, {1}, {&last, 1}));
  const ValueId first = graph.Pointwise(ScalarOp::kMin, {wide, limit});
  Value indices;
  indices.op = Op::kExpand;
  indices.operands = {graph.Pointwise(ScalarOp::kAdd, {places, first})};
  indices.type = {DType::kI64, dims, {}};
  Value scatter;
  scatter.op = Op::kScatterElements;
  scatter.operands = {past, MLC_TRY(AddInferred(graph, std::move(indices))), added};
  scatter.attrs["axis"] = static_cast<int64_t>(axis);
  scatter.name = node.name;
  const ValueId written = MLC_TRY(AddInferred(graph, std::move(scatter)));
  graph.ReplaceUses(join, written);
  return written;
}

}  // namespace mlc::graph
