// Cuts a pointwise workload into pieces, each of which is one plain loop nest with the simplest
// possible index space. Concatenations and constant borders become pieces of the output, so that no
// condition is in an inner loop. Transposes, slices and broadcasts become strides of the operands,
// and dimensions that all operands walk together are merged. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/workload.h"

namespace mlc::schedule {

// How a pointwise workload is computed: by pieces if they cover all of it, else along its scan.
struct PointwiseProblem {
  bool covered = false;
  graph::ValueId scan = graph::kNoValue;
};

struct Piece {
  graph::Workload part;          // all outputs have the same dims
  std::vector<int> operands;     // the part's operand i is the whole workload's operands[i]
  std::vector<int> outputs;      // the part's output i is a region of the whole's outputs[i],
  std::vector<int64_t> offsets;  // which begins at this element of its storage
  std::vector<int> order;        // dimensions of the outputs by falling stride, innermost last
  // True if every operand is read at strides that are constant over the index space.
  bool affine = false;
};

// REQUIRES: every output is Covered without anchors.
std::vector<Piece> CutPieces(const graph::Workload& workload);
// One piece: `value` of the workload, stored as its output `output`. REQUIRES: Covers(value).
Piece PieceOf(const graph::Workload& workload, graph::ValueId value, int output);

// The dimensions by falling stride of the type, those of size 1 first.
std::vector<int> OrderByStride(const graph::TensorType& type);

}  // namespace mlc::schedule
