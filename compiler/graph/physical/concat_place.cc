#include "compiler/graph/physical/concat_place.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/physical/layout_cost.h"
#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

int64_t Bytes(const TensorType& type) { return type.NumElements() * SizeOf(type.dtype); }

// Values that must be, or whose view must be, a model output's own buffer.
std::vector<bool> OutputRoots(const Graph& graph) {
  std::vector<bool> result(static_cast<size_t>(graph.size()), false);
  for (ValueId output : graph.outputs()) {
    while (graph[output].op == Op::kView || IsViewOp(graph[output])) {
      output = graph[output].operands[0];
    }
    result[static_cast<size_t>(output)] = true;
  }
  return result;
}

// The element of the result's storage that each operand begins at.
std::vector<int64_t> PartOffsets(const Graph& graph, const Value& concat) {
  const auto axis = static_cast<size_t>(concat.Int("axis"));
  const int64_t stride = concat.type.EffectiveStrides()[axis];
  std::vector<int64_t> offsets;
  int64_t at = 0;
  for (ValueId operand : concat.operands) {
    offsets.push_back(at * stride);
    at += graph[operand].type.dims[axis];
  }
  return offsets;
}

bool PartsAreAligned(const Graph& graph, const Value& concat, const PlaceRules& rules) {
  const std::vector<int64_t> offsets = PartOffsets(graph, concat);
  return std::all_of(offsets.begin(), offsets.end(), [&](int64_t offset) {
    return offset * SizeOf(concat.type.dtype) % rules.alignment == 0;
  });
}

class Placing {
 public:
  Placing(Graph graph, const PlaceRules& rules)
      : rules_(rules),
        graph_(std::move(graph)),
        users_(graph_.Users()),
        output_roots_(OutputRoots(graph_)),
        taken_by_(static_cast<size_t>(graph_.size()), kNoValue) {}

  Graph Run() {
    // Outer concatenations first: the inner ones then lie in their strides.
    std::vector<ValueId> placed;
    for (ValueId id = graph_.size(); id-- > 0;) {
      if (graph_[id].op == Op::kConcat && IsWorthwhile(id)) placed.push_back(id);
    }
    for (ValueId id : placed) CopyTheRest(id);
    graph_.Compact();
    return std::move(graph_);
  }

 private:
  bool CanTake(ValueId concat, ValueId operand) const {
    const Value& node = graph_[operand];
    const std::vector<ValueId>& users = users_[static_cast<size_t>(operand)];
    if (IsSource(node) || IsViewOp(node) || node.type.NumElements() == 0) return false;
    if (output_roots_[static_cast<size_t>(operand)] ||
        taken_by_[static_cast<size_t>(operand)] != kNoValue) {
      return false;
    }
    if (std::count(users.begin(), users.end(), concat) != 1) return false;
    // Gaps between rows would turn a reshape into a copy.
    const bool reshaped = std::any_of(
        users.begin(), users.end(), [&](ValueId user) { return graph_[user].op == Op::kReshape; });
    return !reshaped && InnermostDim(node.type) == InnermostDim(graph_[concat].type);
  }

  bool IsWorthwhile(ValueId concat) {
    if (!PartsAreAligned(graph_, graph_[concat], rules_)) return false;
    int64_t bytes = 0;
    for (ValueId operand : graph_[concat].operands) {
      if (CanTake(concat, operand)) bytes += Bytes(graph_[operand].type);
    }
    if (2 * bytes < Bytes(graph_[concat].type) || bytes == 0) return false;
    const std::vector<int64_t> strides = graph_[concat].type.EffectiveStrides();
    for (ValueId operand : graph_[concat].operands) {
      if (!CanTake(concat, operand)) continue;
      taken_by_[static_cast<size_t>(operand)] = concat;
      graph_[operand].type.strides = strides;
      graph_[operand].type = Canonical(graph_[operand].type);
    }
    return true;
  }

  void CopyTheRest(ValueId concat) {
    const std::vector<int64_t> strides = graph_[concat].type.EffectiveStrides();
    std::vector<ValueId> operands = graph_[concat].operands;
    for (ValueId& operand : operands) {
      if (taken_by_[static_cast<size_t>(operand)] == concat) continue;
      Value copy;
      copy.op = Op::kCopy;
      copy.operands = {operand};
      copy.type = {graph_[operand].type.dtype, graph_[operand].type.dims, strides};
      copy.type = Canonical(copy.type);
      copy.name = graph_[operand].name;
      operand = graph_.Add(std::move(copy));
    }
    graph_[concat].operands = std::move(operands);
  }

  const PlaceRules rules_;
  Graph graph_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<bool> output_roots_;
  std::vector<ValueId> taken_by_;  // the concatenation that a value lies in
};

// True if the operand's elements lie as the slice of the container they are to be.
bool IsContainedIn(const TensorType& operand, const TensorType& container) {
  const std::vector<int64_t> theirs = container.EffectiveStrides();
  const std::vector<int64_t> mine = operand.EffectiveStrides();
  for (size_t i = 0; i < mine.size(); ++i) {
    if (operand.dims[i] != 1 && mine[i] != theirs[i]) return false;
  }
  return operand.NumElements() > 0;
}

}  // namespace

Result<Graph> PlaceConcats(Graph graph, const PlaceRules& rules) {
  return Placing(std::move(graph), rules).Run();
}

std::vector<Containment> FindContained(const Graph& graph, const PlaceRules& rules) {
  std::vector<Containment> result(static_cast<size_t>(graph.size()));
  const std::vector<bool> output_roots = OutputRoots(graph);
  for (ValueId id = graph.size(); id-- > 0;) {
    const Value& node = graph[id];
    if (node.op != Op::kConcat || !PartsAreAligned(graph, node, rules)) continue;
    const bool all = std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId operand) {
      const Value& part = graph[operand];
      return !IsSource(part) && part.op != Op::kView &&
             !output_roots[static_cast<size_t>(operand)] &&
             result[static_cast<size_t>(operand)].container == kNoValue &&
             std::count(node.operands.begin(), node.operands.end(), operand) == 1 &&
             IsContainedIn(part.type, node.type);
    });
    if (!all) continue;
    const std::vector<int64_t> offsets = PartOffsets(graph, node);
    for (size_t i = 0; i < offsets.size(); ++i) {
      result[static_cast<size_t>(node.operands[i])] = {id, offsets[i]};
    }
  }
  return result;
}

}  // namespace mlc::graph
