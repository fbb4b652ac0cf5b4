// Boxes of elements, and the boxes of its operands that a node needs to compute a part of its
// result. Only for logical operators; strides have no effect. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

struct Range {
  int64_t begin = 0;
  int64_t size = 0;
  friend bool operator==(const Range&, const Range&) = default;
};
// One range per dimension.
using Region = std::vector<Range>;

Region WholeRegion(const std::vector<int64_t>& dims);
// The smallest box around both. REQUIRES: equal ranks.
Region Hull(const Region& a, const Region& b);

// The smallest part of the node that holds `region` and can be computed by the same operator on
// parts of its operands.
Region ComputableRegion(const Graph& graph, const Value& node, const Region& region);

// The region of operand `index` that this part needs. REQUIRES: `region` is computable.
Region OperandRegion(const Graph& graph, const Value& node, size_t index, const Region& region);

}  // namespace mlc::graph
