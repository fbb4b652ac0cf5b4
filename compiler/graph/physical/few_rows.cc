#include "compiler/graph/physical/few_rows.h"

#include <algorithm>

#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

bool IsPointwise(const Value& node) { return node.op == Op::kPointwise || node.op == Op::kCast; }

bool Has(const std::vector<ValueId>& ids, ValueId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool IsOutput(const Graph& graph, ValueId id) { return Has(graph.outputs(), id); }

// A view of half of the matrix's columns.
bool IsHalf(const Graph& graph, ValueId view, ValueId matrix) {
  const Value& node = graph[view];
  const std::vector<int64_t>& dims = graph[matrix].type.dims;
  const int64_t columns = dims[1];
  if (node.op != Op::kView || IsOutput(graph, view) || columns % 2 != 0) return false;
  if (node.type.dims != std::vector<int64_t>{dims[0], columns / 2}) return false;
  const std::vector<int64_t> strides = node.type.EffectiveStrides();
  const int64_t offset = node.Int("offset");
  return strides[1] == 1 && (dims[0] == 1 || strides[0] == columns) &&
         (offset == 0 || offset == columns / 2);
}

// True if all that reads the views can be computed with them.
bool AreReadTogether(const Graph& graph, const Fuser& fuser, const std::vector<ValueId>& views) {
  std::vector<ValueId> readers;
  for (const ValueId view : views) {
    const std::vector<ValueId>& users = fuser.users()[static_cast<size_t>(view)];
    readers.insert(readers.end(), users.begin(), users.end());
  }
  const ValueId first = std::min(views[0], views[1]);
  const auto is_there = [&](ValueId operand) {
    return operand < first || Has(views, operand) || Has(readers, operand) ||
           graph[operand].op == Op::kConstant;
  };
  return std::all_of(readers.begin(), readers.end(), [&](ValueId reader) {
    const Value& node = graph[reader];
    return IsPointwise(node) && node.type.dims == graph[views[0]].type.dims &&
           fuser.Anchor(fuser.GroupOf(reader)) == kNoValue &&
           std::all_of(node.operands.begin(), node.operands.end(), is_there);
  });
}

}  // namespace

bool IsProductOfFewRows(const Graph& graph, ValueId id, const FewRows& few) {
  const Value& node = graph[id];
  if (node.op != Op::kMatMul || node.type.rank() != 2 || node.operands.size() != 2) return false;
  const Value& columns = graph[RootOf(graph, node.operands[1])];
  const bool is_known =
      columns.op == Op::kDequantize || (columns.op == Op::kConstant && columns.data);
  return is_known && IsFloat(node.type.dtype) &&
         graph[node.operands[0]].type.dtype == node.type.dtype && node.type.dims[0] <= few.rows;
}

bool IsNormOfFewRows(const Graph& graph, ValueId id, const FewRows& few) {
  const Value& node = graph[id];
  if (node.op != Op::kLayerNorm || node.type.rank() != 2 || node.Int("axis") != 1) return false;
  const bool is_rms = node.Has("kind") && node.Word("kind") == "rms";
  const bool has_bias = node.operands.size() > 2 && node.operands[2] != kNoValue;
  return is_rms && !has_bias && node.type.dims[0] <= few.rows && node.type.dims[1] <= few.depth;
}

ValueId WidenedRowsOf(const Graph& graph, ValueId norm) {
  const ValueId rows = graph[norm].operands[0];
  const Value& node = graph[rows];
  if (node.op != Op::kCast || IsSource(graph[node.operands[0]])) return kNoValue;
  return SizeOf(graph[node.operands[0]].type.dtype) < SizeOf(node.type.dtype) ? rows : kNoValue;
}

std::vector<ValueId> HalvesOf(const Graph& graph, const Fuser& fuser, ValueId product) {
  const std::vector<ValueId> views = fuser.users()[static_cast<size_t>(product)];
  if (views.size() != 2 || views[0] == views[1]) return {};
  int64_t offsets = 0;
  for (const ValueId view : views) {
    if (!IsHalf(graph, view, product)) return {};
    offsets += graph[view].Int("offset");
  }
  if (offsets != graph[product].type.dims[1] / 2) return {};
  return AreReadTogether(graph, fuser, views) ? views : std::vector<ValueId>{};
}

}  // namespace mlc::graph
