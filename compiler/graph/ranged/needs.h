// What a graph at one size needs, beside its inputs, to compute at smaller sizes: the graph of a
// class runs inputs that are filled up to its size, and results are the first elements of its own.
// Values.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// A place in the graph of the class where the length of the true elements matters.
struct Need {
  enum class Kind : uint8_t {
    kMask,    // elements of the operand beyond the length on the axis count as `fill`
    kMean,    // the mean over the axis is one over the length
    kScores,  // keys of attention beyond the length are hidden; axis: of k
    kIndex,   // negative indices count from the length of the operand's axis
    kStart,   // a slice begins at the length on the axis
    kJoin,    // what a concatenation has behind the operand begins at the operand's length
    kNumber,  // element `operand` of a constant is the length
  };

  ValueId node = kNoValue;
  int operand = 0;
  int axis = 0;
  Kind kind = Kind::kMask;
  double fill = 0;

  auto operator<=>(const Need&) const = default;
};

// The length at one size.
using Needs = std::map<Need, int64_t>;

}  // namespace mlc::graph
