// Rows of a product in the order of what reads them. Attention of some frameworks gives
// [T,B,heads,K], whose product is transposed back to [B,T,N] before a residual is added: the rows
// are taken in that order at once. A part of canonicalize_matmul. Thread-safe.
#pragma once

#include <optional>

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

// For a node that transposes [T,B,N] to [B,T,N], computed along rows from a product of rank 2 whose
// rows [T*B,K] are themselves a transpose: the same with the rows of the product as [B*T,K]; or
// nothing.
std::optional<ValueId> WithoutSwap(Rewriter& rewriter, const Value& transpose);

}  // namespace mlc::graph
