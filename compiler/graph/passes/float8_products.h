// float8_products: products of dequantised float8 values become products of float8, which are
// scaled afterwards. Before: the graph as it was imported, with weights as they are stored. After:
// such products have rows and columns enough for the matrix units of a GPU, columns that are
// constant, and a depth that is a multiple of 16. Sums are cut (ir.h, WarpgroupMma), as narrow
// floats are; not those of blocks with scales of their own (float8_blocks.h).
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

struct Float8Products {
  bool wide = false;   // of f32 values, too, because the model will compute in a narrower type
  bool blocks = true;  // with scales of blocks, too
};
Result<bool> MultiplyFloat8(Graph& graph, const Float8Products& taken);

}  // namespace mlc::graph
