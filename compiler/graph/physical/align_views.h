// Views that begin where a kernel may not read from are moved: the range they see is copied to the
// start of a buffer of its own (a constant's here and now), and the view looks there. Runs last.
// Pure.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// REQUIRES: LowerViews() has run. Afterwards the offset of every view is a multiple of `alignment`
// bytes.
Result<Graph> AlignViews(Graph graph, int64_t alignment);

}  // namespace mlc::graph
