// Rows of a product in the order of what surrounds it. torch.nn.MultiheadAttention swaps batch and
// tokens, [B,T,K] to [T,B,K], before its first product and back behind its last one. A product
// computes each row by itself, so that neither swap has to move data: attention reads its heads in
// either order, and the last product may take its rows as they are needed. Thread-safe.
#pragma once

#include <optional>

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

// Part of canonicalize_matmul, for swaps behind a product: attention gives [T,B,heads,K], whose
// product is transposed back to [B,T,N] before a residual is added.
// For a node that transposes [T,B,N] to [B,T,N], computed along rows from a product of rank 2 whose
// rows [T*B,K] are themselves a transpose: the same with the rows of the product as [B*T,K]; or
// nothing.
std::optional<ValueId> WithoutSwap(Rewriter& rewriter, const Value& transpose);
// swap_rows, for swaps before products. Before: products have rank 2 and equal values are one.
// After: no product's rows are a swap of two dimensions if all that reads its result is attention,
// which finds both dimensions apart. The result is swapped instead, as a view.
Result<bool> SwapRowsLater(Graph& graph);

}  // namespace mlc::graph
