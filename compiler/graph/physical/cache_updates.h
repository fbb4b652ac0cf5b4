// What the kernel of a scatter may compute beside it, where the device has such kernels: its
// updates, and values of the same time. A step of a decoder rotates its queries and keys and writes
// keys and values to their caches; each would be a kernel of a microsecond. Used by the partition.
// Pure.
#pragma once

#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/physical/fuser.h"

namespace mlc::graph {

// A scatter that replaces elements of an input of the model.
bool IsCacheUpdate(const Graph& graph, ValueId id);
// The groups of pointwise nodes and views that compute the updates, nearest first, if nothing else
// reads them; else empty. REQUIRES: IsCacheUpdate(scatter).
std::vector<ValueId> UpdatesOf(const Graph& graph, const Fuser& fuser, ValueId scatter);
// Pairs of such scatters that one kernel can compute: their caches and updates have one form, as
// keys and values of a layer, and their indices are the same.
std::vector<std::pair<ValueId, ValueId>> UpdatesTogether(const Graph& graph);
// True if the group is of few elements, pointwise, and reads what the scatter's group reads, while
// neither needs the other.
bool IsBeside(const Graph& graph, const Fuser& fuser, ValueId group, ValueId scatter);

}  // namespace mlc::graph
