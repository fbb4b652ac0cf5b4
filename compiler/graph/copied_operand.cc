#include "compiler/graph/copied_operand.h"

#include <algorithm>

namespace mlc::graph {

std::vector<CopiedOperand> CopiedOperandsOf(const Workload& workload) {
  const Graph& graph = workload.graph();
  const std::vector<ValueId>& outputs = workload.outputs();
  const auto users = graph.Users();
  std::vector<CopiedOperand> copied;
  for (size_t output = 0; output < outputs.size(); ++output) {
    const Value& scatter = graph[outputs[output]];
    if (scatter.op != Op::kScatterElements && scatter.op != Op::kScatterND) continue;
    const ValueId data = scatter.operands[0];
    if (graph[data].op != Op::kInput || graph[data].type != scatter.type) return {};
    if (!users[static_cast<size_t>(outputs[output])].empty()) return {};
    int uses = 0;
    for (ValueId id = 0; id < graph.size(); ++id) {
      uses += static_cast<int>(std::ranges::count(graph[id].operands, data));
    }
    if (uses != 1) return {};
    const auto found = std::ranges::find(workload.operands(), data);
    copied.push_back(
        {static_cast<int>(found - workload.operands().begin()), static_cast<int>(output)});
  }
  return copied;
}

}  // namespace mlc::graph
