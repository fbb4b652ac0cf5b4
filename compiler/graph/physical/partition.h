// Cuts a lowered graph into tasks. Greedy, with legality: a task has at most one anchor
// (contraction, attention, window, reduction, softmax, norm); the pointwise nodes after it over the
// same dims join it; row kernels and pooling take the pointwise nodes before them; what is left
// forms pointwise tasks, whose movement nodes read from outside only. Tasks never form a cycle.
// Deterministic; pure.
#pragma once

#include <vector>

#include "compiler/base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

struct Group {
  std::vector<ValueId> members;  // ascending
  ValueId anchor = kNoValue;
};

struct Partition {
  std::vector<Group> groups;  // in execution order
  std::vector<int> group_of;  // per value; -1 for sources and views
};

// REQUIRES: LowerViews() has run. INTERNAL if the tasks cannot be ordered (a bug).
Result<Partition> PartitionGraph(const Graph& graph);

// True for nodes a task is built around.
bool IsAnchor(Op op);

}  // namespace mlc::graph
