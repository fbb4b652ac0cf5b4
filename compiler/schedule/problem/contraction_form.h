// Parts of a contraction: rows that the kernel computes, outputs that are computed from two halves
// of the columns, scales of blocks. Pure.
#pragma once

#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

// Sets norm, rows and row_dtype if the anchor's rows are an RMS norm over all of their elements
// without a bias, followed by pointwise nodes that nothing else reads. True for operands, too;
// false for any other rows.
bool FillRows(const graph::Workload& workload, ContractionProblem& p);
// Sets ends: the anchor, or its two halves if nothing else reads it. False for any other slices.
// REQUIRES: the anchor.
bool FillEnds(const graph::Workload& workload, ContractionProblem& p);

// Sets blocks, if the anchor is a product of scaled blocks. False if kernels cannot read its
// scales. REQUIRES: the anchor and column_is_weight.
bool FillBlocks(const graph::Workload& workload, ContractionProblem& p);

// Every output has the shape of the ends, from which it is computed, and so has every node between.
bool OutputsFollow(const graph::Workload& workload, std::span<const graph::ValueId> ends);

// Of a value among Workload::operands().
int OperandIndex(const graph::Workload& workload, graph::ValueId id);

}  // namespace mlc::schedule
