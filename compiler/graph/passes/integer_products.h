// integer_products: products of dequantised values become products of their codes, u8 by i8 in i32,
// which are scaled afterwards; on devices whose kernels do not multiply bytes, products of bytes
// become products of floats instead. Before: the graph as it was imported, with the codes of
// weights as they are stored. After: where kernels multiply bytes, no product of bytes is outside
// what they take (byte_product.h); elsewhere there is none.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// `filters`: kernels take convolutions of one filter for each channel, too.
Result<bool> MultiplyBytes(Graph& graph, bool filters);
Result<bool> SpellOutProductsOfBytes(Graph& graph);

}  // namespace mlc::graph
