// hide_keys: attention of a model that takes ranges knows how many keys there are. Before: masks
// hide keys from a length on, and set values to zero from there on (ranged/length_masks.h). After:
// the length is an operand of attention, and those masks are gone where nothing else reads them.
// After recognize_attention.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// True if it changed something. REQUIRES: lengths are not above those of the axes that they are of.
Result<bool> HideKeys(Graph& graph);

}  // namespace mlc::graph
