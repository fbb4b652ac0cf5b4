// Chooses how every computed value lies in memory: the strides in its type. The choice is local
// search over a small cost model, in bytes moved: what each kernel loses when its operands or
// results lie unlike it wants them (convolutions and pooling want channels innermost, row
// reductions their row), what a reshape costs that strides cannot express, what a model output
// costs that is not row-major. Views carry no strides yet; see lower_views.h. Pure.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

// Sets strides on the results of all nodes but sources and views. Model inputs and constants are
// row-major and stay so.
Result<Graph> ChooseLayouts(Graph graph, const PlaceRules& rules = {});

// True if a convolution reads x in any strides at no loss: few channels (a model's image).
bool ReadsAnyLayout(const Graph& graph, const Value& conv, const PlaceRules& rules);

}  // namespace mlc::graph
