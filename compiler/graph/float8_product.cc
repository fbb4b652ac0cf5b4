#include "compiler/graph/float8_product.h"

namespace mlc::graph {

bool IsProductOfFloat8(const Graph& graph, const Value& node) {
  return node.op == Op::kMatMul && IsFloat8(graph[node.operands[0]].type.dtype) &&
         IsFloat8(graph[node.operands[1]].type.dtype);
}

bool IsProductOfBlocks(const Value& node) {
  return node.op == Op::kMatMul && node.operands.size() > 2;
}

}  // namespace mlc::graph
