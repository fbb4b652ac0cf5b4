// Cuts a lowered graph into tasks. Greedy, with legality: a task has at most one anchor
// (contraction, attention, window, reduction, softmax, norm); the pointwise nodes after it over the
// same dims join it; row kernels and pooling take the pointwise nodes before them; what is left
// forms pointwise tasks, whose movement nodes read from outside only. Tasks never form a cycle.
// Deterministic; pure.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

struct Group {
  std::vector<ValueId> members;  // ascending
  ValueId anchor = kNoValue;
};

struct PartitionOptions {
  // If true, a sum with a tensor of another task joins the product or convolution before it.
  // Otherwise pointwise tasks compute such sums, and norms and reductions that read nothing else.
  bool fuse_residuals = true;
};

struct Partition {
  std::vector<Group> groups;  // in execution order
  std::vector<int> group_of;  // per value; -1 for sources and views
  int residuals = 0;          // fused residual sums (see PartitionOptions)
};

// REQUIRES: LowerViews() has run. INTERNAL if the tasks cannot be ordered (a bug).
Result<Partition> PartitionGraph(const Graph& graph, const PartitionOptions& options = {});

// True for operators that a task is built around.
bool IsAnchor(Op op);

}  // namespace mlc::graph
