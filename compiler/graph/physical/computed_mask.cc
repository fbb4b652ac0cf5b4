#include "compiler/graph/physical/computed_mask.h"

#include <cstddef>
#include <vector>

namespace mlc::graph {

ValueId ComputedMaskOf(const Graph& graph, ValueId attention) {
  constexpr size_t kMask = 3;
  const std::vector<ValueId>& operands = graph[attention].operands;
  if (operands.size() <= kMask || operands[kMask] == kNoValue) return kNoValue;
  const Value& mask = graph[operands[kMask]];
  if (mask.op != Op::kTrilu) return kNoValue;
  const Value& number = graph[mask.operands[0]];
  return number.op == Op::kConstant && number.Has("value") ? operands[kMask] : kNoValue;
}

}  // namespace mlc::graph
