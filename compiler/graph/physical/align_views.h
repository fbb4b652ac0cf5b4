// Moves views whose start address a kernel cannot read from: copies the viewed range to the start
// of a separate buffer (at compile time for a constant) and lets the view refer to it. Runs last.
// Pure; thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// REQUIRES: LowerViews() has run. Afterwards the offset of every view is a multiple of `alignment`
// bytes.
Result<Graph> AlignViews(Graph graph, int64_t alignment);

}  // namespace mlc::graph
