#include "compiler/graph/copied_operand.h"

#include <algorithm>

namespace mlc::graph {

int CopiedOperand(const Workload& workload) {
  const Graph& graph = workload.graph();
  if (workload.outputs().size() != 1) return -1;
  const Value& scatter = graph[workload.outputs()[0]];
  if (scatter.op != Op::kScatterElements && scatter.op != Op::kScatterND) return -1;
  const ValueId data = scatter.operands[0];
  if (graph[data].op != Op::kInput || graph[data].type != scatter.type) return -1;
  int uses = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    uses += static_cast<int>(std::ranges::count(graph[id].operands, data));
  }
  if (uses != 1) return -1;
  const auto found = std::ranges::find(workload.operands(), data);
  return static_cast<int>(found - workload.operands().begin());
}

}  // namespace mlc::graph
