#include "compiler/graph/physical/fuser.h"

#include <algorithm>

#include "compiler/graph/physical/partition.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

void SortUnique(std::vector<ValueId>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

}  // namespace

Fuser::Fuser(const Graph& graph)
    : graph_(graph),
      users_(graph.Users()),
      is_output_(static_cast<size_t>(graph.size()), false),
      members_(static_cast<size_t>(graph.size())),
      anchor_(static_cast<size_t>(graph.size()), kNoValue) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    group_.push_back(id);
    members_[static_cast<size_t>(id)] = {id};
    if (IsAnchor(graph[id].op)) anchor_[static_cast<size_t>(id)] = id;
  }
  for (ValueId output : graph.outputs()) is_output_[static_cast<size_t>(output)] = true;
}

ValueId Fuser::GroupOf(ValueId value) const { return group_[static_cast<size_t>(value)]; }

const std::vector<ValueId>& Fuser::Members(ValueId group) const {
  return members_[static_cast<size_t>(group)];
}

ValueId Fuser::Anchor(ValueId group) const { return anchor_[static_cast<size_t>(group)]; }

std::vector<ValueId> Fuser::Results(ValueId group) const {
  std::vector<ValueId> results;
  for (ValueId member : Members(group)) {
    const std::vector<ValueId>& users = users_[static_cast<size_t>(member)];
    const bool escapes = is_output_[static_cast<size_t>(member)] ||
                         std::any_of(users.begin(), users.end(),
                                     [&](ValueId user) { return GroupOf(user) != group; });
    if (escapes) results.push_back(member);
  }
  return results;
}

std::vector<ValueId> Fuser::Readers(ValueId group) const {
  std::vector<ValueId> readers;
  for (ValueId member : Members(group)) {
    for (ValueId user : users_[static_cast<size_t>(member)]) {
      if (GroupOf(user) != group) readers.push_back(GroupOf(user));
    }
  }
  SortUnique(&readers);
  return readers;
}

std::vector<ValueId> Fuser::Reads(ValueId group) const {
  std::vector<ValueId> reads;
  for (ValueId member : Members(group)) {
    for (ValueId operand : graph_[member].operands) {
      if (operand == kNoValue || IsSource(graph_[operand])) continue;
      if (GroupOf(operand) != group) reads.push_back(GroupOf(operand));
    }
  }
  SortUnique(&reads);
  return reads;
}

bool Fuser::CanMerge(ValueId producer, ValueId consumer) const {
  if (producer == consumer) return false;
  // Searches upwards from the consumer, not through the direct edge, for the producer.
  std::vector<bool> seen(static_cast<size_t>(graph_.size()), false);
  std::vector<ValueId> stack;
  for (ValueId group : Reads(consumer)) {
    if (group != producer) stack.push_back(group);
  }
  while (!stack.empty()) {
    const ValueId group = stack.back();
    stack.pop_back();
    if (group == producer) return false;
    if (seen[static_cast<size_t>(group)]) continue;
    seen[static_cast<size_t>(group)] = true;
    for (ValueId read : Reads(group)) stack.push_back(read);
  }
  return true;
}

void Fuser::Merge(ValueId producer, ValueId consumer) {
  const ValueId kept = std::min(producer, consumer);
  const ValueId gone = std::max(producer, consumer);
  std::vector<ValueId>& to = members_[static_cast<size_t>(kept)];
  std::vector<ValueId>& from = members_[static_cast<size_t>(gone)];
  for (ValueId member : from) group_[static_cast<size_t>(member)] = kept;
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end());
  from.clear();
  const ValueId anchor = anchor_[static_cast<size_t>(consumer)];
  anchor_[static_cast<size_t>(kept)] =
      anchor != kNoValue ? anchor : anchor_[static_cast<size_t>(producer)];
}

}  // namespace mlc::graph
