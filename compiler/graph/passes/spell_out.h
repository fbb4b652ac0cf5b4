// spell_out: products that no kernel computes become sums of pointwise products. Before: any graph.
// After: matrix products and convolutions take f16, bf16 or f32 only; those of doubles and integers
// are reductions, which fuse with the product they sum. Slow, but such products are rare and small.
// After all passes that look for products.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> SpellOutProducts(Graph& graph);

}  // namespace mlc::graph
