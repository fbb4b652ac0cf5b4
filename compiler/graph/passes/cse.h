// cse: of equal nodes with equal operands the first is kept. Before: any graph. After: no two
// values are the same computation (constants with the same bytes included; inputs are never
// merged). Runs before the recognisers, which compare operands by identity.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> EliminateCommonSubexpressions(Graph& graph);

}  // namespace mlc::graph
