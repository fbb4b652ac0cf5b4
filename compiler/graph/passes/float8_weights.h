// float8_weights: constant matrices of float8 that are scaled as a whole or by columns, as
// DequantizeLinear writes it, become dequantize nodes where a product of few rows reads them.
// Before: the graph as it was imported, after float8_products. After: such products have a
// dequantize node as their right operand, if the scales are exact in its type. Other readers of
// the matrix keep what they have.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/graph/passes/decode_weights.h"

namespace mlc::graph {

Result<bool> PackFloat8Weights(Graph& graph, const PackedReads& reads);

}  // namespace mlc::graph
