#include "compiler/schedule/problem/contraction_form.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/graph/float8_product.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;

namespace {

std::vector<ValueId> NodesOf(const graph::Graph& graph, Op op) {
  std::vector<ValueId> nodes;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == op) nodes.push_back(id);
  }
  return nodes;
}

bool IsNormOfRows(const Value& norm, const std::vector<int64_t>& dims) {
  const bool is_rms = norm.Has("kind") && norm.Word("kind") == "rms";
  const bool has_bias = norm.operands.size() > 2 && norm.operands[2] != graph::kNoValue;
  return is_rms && !has_bias && norm.type.dims == dims && dims.size() == 2 && norm.Int("axis") == 1;
}

// True if the value is half `half` of the columns of the anchor.
bool IsHalf(const Value& slice, const Value& anchor, int half) {
  if (slice.op != Op::kSlice || anchor.type.rank() != 2) return false;
  const int64_t columns = anchor.type.dims[1];
  return columns % 2 == 0 &&
         slice.type.dims == std::vector<int64_t>{anchor.type.dims[0], columns / 2} &&
         slice.Ints("starts") == std::vector<int64_t>{0, half * (columns / 2)} &&
         slice.Ints("steps") == std::vector<int64_t>{1, 1};
}

}  // namespace

bool OutputsFollow(const graph::Workload& workload, std::span<const ValueId> ends) {
  const graph::Graph& graph = workload.graph();
  const std::vector<int64_t>& dims = graph[ends[0]].type.dims;
  std::vector<char> depends(static_cast<size_t>(graph.size()), 0);
  for (const ValueId end : ends) depends[static_cast<size_t>(end)] = 1;
  for (ValueId id = *std::ranges::min_element(ends) + 1; id < graph.size(); ++id) {
    for (ValueId operand : graph[id].operands) {
      if (operand == graph::kNoValue || !depends[static_cast<size_t>(operand)]) continue;
      if (graph[id].type.dims != dims) return false;
      depends[static_cast<size_t>(id)] = 1;
    }
  }
  return std::all_of(workload.outputs().begin(), workload.outputs().end(),
                     [&](ValueId id) { return graph[id].type.dims == dims; });
}

bool FillRows(const graph::Workload& workload, ContractionProblem& p) {
  const graph::Graph& graph = workload.graph();
  const ValueId rows = graph[p.anchor].operands[0];
  const Op op = graph[rows].op;
  const std::vector<ValueId> norms = NodesOf(graph, Op::kLayerNorm);
  if (op == Op::kInput || op == Op::kWeight) return norms.empty();
  if (norms.size() != 1 || graph[p.anchor].op != Op::kMatMul) return false;
  const ValueId norm = norms[0];
  const Value& node = graph[norm];
  if (!IsNormOfRows(node, graph[rows].type.dims)) return false;
  const std::array<ValueId, 1> anchors = {norm};
  if (!Fused::Covers(workload, rows, anchors)) return false;
  if (!Fused::Covers(workload, node.operands[0], {})) return false;
  p.norm = norm;
  p.rows = rows;
  p.row_operand = -1;
  p.row_dtype = graph[rows].type.dtype;
  return true;
}

bool FillEnds(const graph::Workload& workload, ContractionProblem& p) {
  const graph::Graph& graph = workload.graph();
  const std::vector<ValueId>& outputs = workload.outputs();
  const std::vector<ValueId> slices = NodesOf(graph, Op::kSlice);
  p.ends[0] = p.anchor;
  if (!slices.empty()) {
    if (slices.size() != 2 || graph.Users()[static_cast<size_t>(p.anchor)] != slices) return false;
    if (std::count(outputs.begin(), outputs.end(), p.anchor) != 0) return false;
    const size_t first = IsHalf(graph[slices[0]], graph[p.anchor], 0) ? 0 : 1;
    p.ends = {slices[first], slices[1 - first]};
    p.end_count = 2;
    for (int half = 0; half < 2; ++half) {
      if (!IsHalf(graph[p.ends[static_cast<size_t>(half)]], graph[p.anchor], half)) return false;
    }
  }
  if (p.IsPlain()) return true;
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](ValueId id) { return Fused::Covers(workload, id, p.Ends()); });
}

bool FillBlocks(const graph::Workload& workload, ContractionProblem& p) {
  const graph::Graph& graph = workload.graph();
  const Value& node = graph[p.anchor];
  if (!graph::IsProductOfBlocks(node)) return true;
  const Value &rows = graph[node.operands[2]], &columns = graph[node.operands[3]];
  constexpr int64_t kStep = 32;  // of what any kernel multiplies at once
  if (!p.column_is_weight || columns.op != Op::kWeight || node.Int("block") % kStep != 0) {
    return false;
  }
  p.blocks = {node.Int("block"), node.Int("across"), rows.type.dims[1], columns.type.dims[1]};
  p.blocks.rows = OperandIndex(workload, node.operands[2]);
  p.blocks.columns = OperandIndex(workload, node.operands[3]);
  return rows.type.IsDense() && columns.type.IsDense();
}

int OperandIndex(const graph::Workload& workload, ValueId id) {
  const auto& operands = workload.operands();
  return static_cast<int>(std::find(operands.begin(), operands.end(), id) - operands.begin());
}

}  // namespace mlc::schedule
