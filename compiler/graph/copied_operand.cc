#include "compiler/graph/copied_operand.h"

#include <algorithm>

namespace mlc::graph {

std::optional<CopiedOperand> CopiedOperandOf(const Workload& workload) {
  const Graph& graph = workload.graph();
  const std::vector<ValueId>& outputs = workload.outputs();
  const auto is_scatter = [&](ValueId id) {
    return graph[id].op == Op::kScatterElements || graph[id].op == Op::kScatterND;
  };
  if (std::ranges::count_if(outputs, is_scatter) != 1) return std::nullopt;
  const auto output = std::ranges::find_if(outputs, is_scatter);
  const Value& scatter = graph[*output];
  const ValueId data = scatter.operands[0];
  if (graph[data].op != Op::kInput || graph[data].type != scatter.type) return std::nullopt;
  const auto users = graph.Users();
  if (!users[static_cast<size_t>(*output)].empty()) return std::nullopt;
  int uses = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    uses += static_cast<int>(std::ranges::count(graph[id].operands, data));
  }
  if (uses != 1) return std::nullopt;
  const auto found = std::ranges::find(workload.operands(), data);
  return CopiedOperand{static_cast<int>(found - workload.operands().begin()),
                       static_cast<int>(output - outputs.begin())};
}

}  // namespace mlc::graph
