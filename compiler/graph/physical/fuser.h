// Groups of nodes that grow by merging, with the check that keeps their order acyclic. Used by the
// partition. Borrows the graph; not thread-safe.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

class Fuser {
 public:
  // Every computing node starts as a group; so does every view, which stays a group of its own.
  explicit Fuser(const Graph& graph);

  // The group of a value: the smallest id in it.
  ValueId GroupOf(ValueId value) const;
  const std::vector<ValueId>& Members(ValueId group) const;
  // The group's anchor, kNoValue if it is pointwise.
  ValueId Anchor(ValueId group) const;
  // The members that other groups or the model's outputs read; ascending.
  std::vector<ValueId> Results(ValueId group) const;
  // The groups that read the group's members, including views; ascending.
  std::vector<ValueId> Readers(ValueId group) const;
  // The groups that the group reads, without sources; ascending.
  std::vector<ValueId> Reads(ValueId group) const;

  // True if one task can compute both: no third group is between them.
  bool CanMerge(ValueId producer, ValueId consumer) const;
  // REQUIRES CanMerge(). If both have an anchor, the consumer's remains.
  void Merge(ValueId producer, ValueId consumer);

  const std::vector<std::vector<ValueId>>& users() const { return users_; }

 private:
  const Graph& graph_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<bool> is_output_;
  std::vector<ValueId> group_;
  std::vector<std::vector<ValueId>> members_;  // by group id
  std::vector<ValueId> anchor_;                // by group id
};

}  // namespace mlc::graph
