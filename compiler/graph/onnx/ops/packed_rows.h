// Constant weights in rows of packed integers, shared by several operators. Not thread-safe, as
// OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// The operands of the node that hold the weights, and their shape.
struct PackedRows {
  int packed = 0;
  int scales = 0;
  int zeros = 0;   // may be absent: the middle of the codes' range
  int order = -1;  // the block of each element of a row, may be absent: blocks in order
  int bits = 4;    // 2, 4 or 8
  int64_t rows = 0;
  int64_t inner = 0;  // elements of a row
  int64_t block = 0;  // elements that share a scale; a row's last block may be shorter
  // Packed zero points start a new byte in each of these rows; floating-point ones are not packed.
  int64_t zero_rows = 0;
};

// The weights [rows, inner] in the type of the scales, decoded while importing.
// REQUIRES: positive sizes up to 2^30.
ValueId DecodedRows(OpContext& c, const PackedRows& form);

}  // namespace mlc::graph::onnx
