#include "compiler/graph/passes/dce.h"

namespace mlc::graph {

Result<bool> EliminateDeadCode(Graph& graph) {
  const int before = graph.size();
  graph.Compact();
  return graph.size() != before;
}

}  // namespace mlc::graph
