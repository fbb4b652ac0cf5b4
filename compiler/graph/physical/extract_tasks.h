// Writes each group of a partition as a workload: values read from outside become input() or
// weight() operands with the strides of their use, splats stay constants, results keep the strides
// they are written in. Equal workloads are one task with a count. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/partition.h"
#include "compiler/graph/physical/place_rules.h"
#include "compiler/graph/program.h"

namespace mlc::graph {

// One execution of a task, in terms of the lowered graph's values.
struct TaskCall {
  int task = 0;
  std::vector<ValueId> operands;  // parallel to workload.operands(): values or views
  std::vector<ValueId> outputs;   // parallel to workload.outputs(): computed values
  std::string label;
};

struct TaskList {
  std::vector<Task> tasks;  // in order of first use
  std::vector<TaskCall> calls;
};

// Of workloads (workload.h).
struct Tolerances {
  double usual = 1e-4;
  double of_rounded_rows = 0;  // of products that may round their rows to 8 bits, if it is larger
  double of_float8 = 0;        // of products of float8, if it is larger
};

Result<TaskList> ExtractTasks(const Graph& graph, const Partition& partition,
                              const Tolerances& tolerances, const PlaceRules& rules = {});

}  // namespace mlc::graph
