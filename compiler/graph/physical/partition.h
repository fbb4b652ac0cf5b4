// Cuts a lowered graph into tasks. Greedy, with legality: a task has at most one anchor
// (contraction, attention, window, reduction, softmax, norm); the pointwise nodes after it over the
// same dims join it; row kernels and pooling take the pointwise nodes before them; what is left
// forms pointwise tasks, whose movement nodes read from outside only. Where the device has kernels
// for it, a product of few rows takes the norm of its rows, too, and nodes that combine two halves
// of its columns; a scatter into a cache takes its updates, and pointwise values beside
// them. Tasks never form a cycle. Deterministic; pure.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

struct Group {
  std::vector<ValueId> members;  // ascending
  ValueId anchor = kNoValue;
};

struct PartitionOptions {
  // If true, a sum with a tensor of another task joins the product or convolution before it.
  // Otherwise pointwise tasks compute such sums, and norms and reductions that read nothing else.
  bool fuse_residuals = true;
  PlaceRules rules;  // few_rows and scatters_compute
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
