// integer_products: products of dequantised values become products of their codes, u8 by i8 in i32,
// which are scaled afterwards; where that is not wanted, products of bytes become products of
// floats instead. Before: the graph as it was imported, with the codes of weights as they are
// stored. After: no product of bytes is outside what kernels take (byte_product.h), or there is
// none.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// `filters`: kernels take convolutions of one filter for each channel, too.
Result<bool> MultiplyBytes(Graph& graph, bool filters);
Result<bool> SpellOutProductsOfBytes(Graph& graph);

}  // namespace mlc::graph
