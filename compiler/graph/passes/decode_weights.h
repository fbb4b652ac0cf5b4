// decode_weights: weights of few bits become constants of real numbers. Before: any graph. After:
// no dequantize node is left; where kernels read packed weights, those are left that are the right
// operand of products of two matrices and nothing else. Packed weights whose data is not known stay
// as they are.
#pragma once

#include <cstdint>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// Which packed weights the kernels of a device read as they are.
struct PackedReads {
  int64_t rows = 0;  // of a product, at most; 0: none
  // Only weights of f16 and bf16, with scales of their type, zeros of u8 and blocks that are
  // multiples of 8; `narrows`: the model will compute in such a type, so f32 counts, too.
  bool narrow = false;
  bool narrows = false;
  bool float8 = false;  // codes of float8, too
};

// Every dequantize node.
Result<bool> DecodeWeights(Graph& graph);
// Those that no product reads as they are, as far as this is known before other passes: of too many
// rows, or of another form.
Result<bool> DecodeUnread(Graph& graph, const PackedReads& reads);
// Those that no product reads as they are.
Result<bool> DecodeOtherWeights(Graph& graph, const PackedReads& reads);

}  // namespace mlc::graph
