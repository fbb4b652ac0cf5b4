// Test support: small random graphs of the operators that the physical passes treat each in their
// own way. The same seed gives the same graph.
#pragma once

#include <cstdint>

#include "compiler/graph/graph.h"

namespace mlc::graph {

Graph RandomGraph(uint64_t seed);

}  // namespace mlc::graph
