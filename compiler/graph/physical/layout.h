// Chooses the memory layout of every computed value: the strides in its type. The choice is a local
// search over a small cost model, in bytes moved: the loss of a kernel whose operands or results
// have another layout than it prefers (convolutions and pooling want channels innermost, row
// reductions their row), the cost of a reshape that strides cannot express, and of a model output
// that is not row-major. Views have no strides yet; see lower_views.h. Pure; thread-safe.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

// Sets strides on the results of all nodes except sources and views. Model inputs and constants
// stay row-major.
Result<Graph> ChooseLayouts(Graph graph, const PlaceRules& rules = {});

// True if a convolution reads x in any layout without loss: x has few channels (a model's image),
// and is not of bytes, which are read as words of channels.
bool ReadsAnyLayout(const Graph& graph, const Value& conv, const PlaceRules& rules);

}  // namespace mlc::graph
