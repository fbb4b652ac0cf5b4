// Concatenation without a kernel: if the task that computes an operand writes it directly into its
// slice of the result, no copy is needed. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

// Gives operands of concatenations the strides of the result, if their values are computed for it
// (no views, no model outputs, no part of another concatenation) and are most of its bytes; a kCopy
// moves the others. A concatenation with a part whose start the rules do not allow stays as it is.
// Runs between ChooseLayouts() and LowerViews().
Result<Graph> PlaceConcats(Graph graph, const PlaceRules& rules = {});

// Storage inside of another value's storage.
struct Containment {
  ValueId container = kNoValue;  // kNoValue: separate storage
  int64_t offset = 0;            // elements
};

// For each value of a lowered graph: the concatenation that contains its storage, if that one needs
// no kernel because it contains all its operands. Containers may be contained in others.
std::vector<Containment> FindContained(const Graph& graph, const PlaceRules& rules = {});

}  // namespace mlc::graph
