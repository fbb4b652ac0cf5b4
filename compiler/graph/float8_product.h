// Products of float8 values: a matmul whose operands are f8e4m3fn or f8e5m2, which may be mixed,
// gives f32. Pure functions.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

bool IsProductOfFloat8(const Graph& graph, const Value& node);

}  // namespace mlc::graph
