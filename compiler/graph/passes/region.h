// Boxes of elements, and how operators carry them from a result to its operands: what must be known
// of each operand to know a part of the result. Only logical operators; strides play no part.
// Thread-safe (no state).
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

// What operand `index` must offer for that part. REQUIRES: `region` is computable.
Region OperandRegion(const Graph& graph, const Value& node, size_t index, const Region& region);

}  // namespace mlc::graph
