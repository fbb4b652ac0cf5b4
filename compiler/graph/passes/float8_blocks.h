// The part of float8_products whose scales are of blocks: DequantizeLinear with a block_size of
// 128 along what is summed, or the same in plain operators, of rows and constant columns. Scales of
// the columns are the same for 128 of them side by side, as in blocks of 128 x 128.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// The product as one of scaled blocks (float8_product.h), in the product's type; nothing if its
// operands are of another form. REQUIRES: a matmul with a matrix on the right.
std::optional<ValueId> MultipliedBlocks(Graph& graph, const Value& product);

}  // namespace mlc::graph
