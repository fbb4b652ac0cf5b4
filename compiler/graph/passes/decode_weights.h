// decode_weights: weights of few bits become constants of real numbers. Before: any graph. After:
// no dequantize node is left; where kernels read packed weights, those are left that are the right
// operand of products of two matrices and nothing else. Packed weights whose data is not known stay
// as they are.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// Every dequantize node.
Result<bool> DecodeWeights(Graph& graph);
// Those that no product reads as they are.
Result<bool> DecodeOtherWeights(Graph& graph);

}  // namespace mlc::graph
