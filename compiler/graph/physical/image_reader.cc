#include "compiler/graph/physical/image_reader.h"

#include "compiler/graph/image_convolution.h"
#include "compiler/graph/physical/lower_views.h"

namespace mlc::graph {

bool ReadsImage(const Graph& graph, ValueId id) {
  const Value& node = graph[id];
  if (node.op != Op::kConv || node.operands.size() != 2) return false;
  const Value& filters = graph[RootOf(graph, node.operands[1])];
  return filters.op == Op::kConstant && filters.data &&
         IsImageConvolution(node, graph[node.operands[0]].type, graph[node.operands[1]].type);
}

}  // namespace mlc::graph
