#include "compiler/graph/physical/cache_updates.h"

#include <algorithm>

#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

// More would be worth a launch of their own.
constexpr int64_t kMostBeside = 1 << 16;

bool IsOutput(const Graph& graph, ValueId id) {
  const std::vector<ValueId>& outputs = graph.outputs();
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

// Arithmetic and slices alone.
bool IsSimple(const Graph& graph, const Fuser& fuser, ValueId group) {
  const std::vector<ValueId>& members = fuser.Members(group);
  return fuser.Anchor(group) == kNoValue &&
         std::all_of(members.begin(), members.end(), [&](ValueId member) {
           const Op op = graph[member].op;
           return op == Op::kPointwise || op == Op::kCast || op == Op::kSlice;
         });
}

// A view of all elements in their order.
bool IsReshape(const Graph& graph, const Value& view) {
  const TensorType& from = graph[view.operands[0]].type;
  return view.op == Op::kView && view.Int("offset") == 0 && view.type.IsDense() && from.IsDense() &&
         from.NumElements() == view.type.NumElements();
}

// The groups of the values behind the views that the group reads.
std::vector<ValueId> RootsOf(const Graph& graph, const Fuser& fuser, ValueId group) {
  std::vector<ValueId> roots;
  for (const ValueId member : fuser.Members(group)) {
    for (const ValueId operand : graph[member].operands) {
      if (operand == kNoValue) continue;
      const ValueId root = RootOf(graph, operand);
      if (!IsSource(graph[root]) && fuser.GroupOf(root) != group) {
        roots.push_back(fuser.GroupOf(root));
      }
    }
  }
  return roots;
}

// True if the scatters differ in nothing but their caches and updates, and these in no form.
bool AreAlike(const Graph& graph, const Value& a, const Value& b) {
  const auto type_of = [&](const Value& scatter, size_t i) {
    return graph[scatter.operands[i]].type;
  };
  return a.op == b.op && a.attrs == b.attrs && a.type == b.type && a.operands[1] == b.operands[1] &&
         type_of(a, 0) == type_of(b, 0) && type_of(a, 2).dims == type_of(b, 2).dims &&
         RootOf(graph, a.operands[0]) != RootOf(graph, b.operands[0]);
}

}  // namespace

bool IsCacheUpdate(const Graph& graph, ValueId id) {
  const Value& node = graph[id];
  if (node.op != Op::kScatterND && node.op != Op::kScatterElements) return false;
  return node.Word("reduction") == "none" &&
         graph[RootOf(graph, node.operands[0])].op == Op::kInput;
}

std::vector<std::pair<ValueId, ValueId>> UpdatesTogether(const Graph& graph) {
  std::vector<std::pair<ValueId, ValueId>> pairs;
  ValueId first = kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!IsCacheUpdate(graph, id)) continue;
    if (first != kNoValue && AreAlike(graph, graph[first], graph[id])) {
      pairs.emplace_back(first, id);
      first = kNoValue;
    } else {
      first = id;
    }
  }
  return pairs;
}

std::vector<ValueId> UpdatesOf(const Graph& graph, const Fuser& fuser, ValueId scatter) {
  std::vector<ValueId> groups;
  ValueId reader = scatter;
  ValueId value = graph[scatter].operands[2];
  if (graph[value].op == Op::kView) {
    const bool is_alone = fuser.users()[static_cast<size_t>(value)].size() == 1;
    if (!is_alone || IsOutput(graph, value) || !IsReshape(graph, graph[value])) return {};
    groups.push_back(fuser.GroupOf(value));
    reader = value;
    value = graph[value].operands[0];
  }
  if (IsSource(graph[value])) return {};
  const ValueId group = fuser.GroupOf(value);
  if (!IsSimple(graph, fuser, group) || IsOutput(graph, value)) return {};
  if (fuser.Results(group) != std::vector<ValueId>{value}) return {};
  if (fuser.Readers(group) != std::vector<ValueId>{fuser.GroupOf(reader)}) return {};
  groups.push_back(group);
  return groups;
}

bool IsBeside(const Graph& graph, const Fuser& fuser, ValueId group, ValueId scatter) {
  const ValueId other = fuser.GroupOf(scatter);
  if (group == other || !IsSimple(graph, fuser, group)) return false;
  for (const ValueId result : fuser.Results(group)) {
    if (graph[result].type.NumElements() > kMostBeside) return false;
  }
  const std::vector<ValueId> reads = RootsOf(graph, fuser, group);
  const std::vector<ValueId> theirs = RootsOf(graph, fuser, other);
  const bool meet = std::any_of(reads.begin(), reads.end(), [&](ValueId root) {
    return std::find(theirs.begin(), theirs.end(), root) != theirs.end();
  });
  return meet && fuser.CanMerge(group, other) && fuser.CanMerge(other, group);
}

}  // namespace mlc::graph
