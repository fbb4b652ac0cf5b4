// causal_masks: attention computes causal masks instead of reading them. Before: attention is a
// single node, known values are constants, and types are those of the kernels. After: where a mask
// is known, alike for all batches and heads, and hides from each query the keys behind one place
// alone, it is trilu of one number, and each attention has its own. Last of the logical passes,
// since folding would make a constant of it again.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// True if it changed something.
Result<bool> ComputeCausalMasks(Graph& graph);

}  // namespace mlc::graph
