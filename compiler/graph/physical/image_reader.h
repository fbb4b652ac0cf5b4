// Which convolutions read an image as it is (image_convolution.h). A pure function; thread-safe.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// True if the value is such a convolution and its filters are known; they may be seen through
// views.
bool ReadsImage(const Graph& graph, ValueId id);

}  // namespace mlc::graph
