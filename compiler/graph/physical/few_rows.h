// What a product of few rows may compute beside its epilogue, where the device has kernels for it:
// the norm of its rows, and values that combine two halves of its columns. Used by the partition.
// Pure.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/physical/fuser.h"
#include "compiler/graph/physical/place_rules.h"

namespace mlc::graph {

// A product of two matrices, the right one known, whose rows are few.
bool IsProductOfFewRows(const Graph& graph, ValueId id, const FewRows& few);
// An RMS norm of such rows, without a bias.
bool IsNormOfFewRows(const Graph& graph, ValueId id, const FewRows& few);
// What the norm normalises, if it is a cast to a wider type of a value that a kernel computes: what
// it widens is less to write and to read. Else kNoValue.
ValueId WidenedRowsOf(const Graph& graph, ValueId norm);
// The two views that alone read the product, one of its first columns and one of the others, if
// pointwise nodes of the views' dims alone read them and belong to no other anchor; else empty.
// REQUIRES: IsProductOfFewRows().
std::vector<ValueId> HalvesOf(const Graph& graph, const Fuser& fuser, ValueId product);

}  // namespace mlc::graph
