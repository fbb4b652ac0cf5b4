// Concatenation without a kernel: when each operand is written into its slice of the result's
// storage by the task that computes it, nothing is left to move.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

// Gives operands of concatenations the strides of the result, where their values are computed for
// it (no views, no model outputs, no part of another concatenation) and are most of its bytes; a
// kCopy puts the rest in place. A concatenation with a part that would begin where the rules do not
// allow it stays as it is. Runs between ChooseLayouts() and LowerViews().
Result<Graph> PlaceConcats(Graph graph, const PlaceRules& rules = {});

// Storage inside of another value's storage.
struct Containment {
  ValueId container = kNoValue;  // kNoValue: storage of its own
  int64_t offset = 0;            // elements
};

// For a lowered graph, per value: the concatenation it lies in, if that one needs no kernel because
// all its operands lie in it. Containers may lie in containers.
std::vector<Containment> FindContained(const Graph& graph, const PlaceRules& rules = {});

}  // namespace mlc::graph
