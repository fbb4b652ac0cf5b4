// Masks that attention computes: they follow from the places of their elements. Pure.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// The mask of the attention, if it is trilu of one number: kernels compute it faster than they read
// it, or even know which keys it hides. Else kNoValue.
ValueId ComputedMaskOf(const Graph& graph, ValueId attention);

}  // namespace mlc::graph
