// What a dequantize node describes: a matrix whose columns are stored as rows of codes of a few
// bits, in blocks that share a scale and a zero. Element (k, n) is (code - zero) * scale, computed
// in f32 and rounded to the node's type. A value; pure functions; thread-safe.
//
//   codes   u8[columns, bytes]: the codes of a column, the first in the low bits of the first byte;
//           what follows the last of them is not read. Or f8e4m3fn or f8e5m2 [columns, depth]:
//           8 bits and no zero; a code is its number, and all are finite
//   scales  [columns, blocks], f32, f16 or bf16
//   zeros   as the scales or u8, of the same dims; without them every zero is the attribute's
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

struct PackedMatrix {
  int bits = 4;  // 2, 4 or 8
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t block = 0;   // elements of a column that share a scale; the last ones may be fewer
  int64_t blocks = 0;  // of a column
  int64_t bytes = 0;   // of a column's codes
  int64_t zero = 0;    // where there is no operand of zeros
  DType codes = DType::kU8;

  int codes_a_byte() const { return 8 / bits; }
  // Bytes of a column that are read.
  int64_t bytes_read() const { return (depth + codes_a_byte() - 1) / codes_a_byte(); }
};

// REQUIRES: the attributes are there and of their kinds. INVALID_ARGUMENT if an attribute is out of
// range or the operands do not fit each other.
Result<PackedMatrix> PackedMatrixOf(const Value& node, std::span<const TensorType* const> operands);

// The matrix in the node's type: [depth, columns], or, `by_columns`, [columns, depth].
// REQUIRES: the node verifies and `operands` have its operands' types.
TensorDataRef Dequantized(const Value& node, std::span<const TensorDataRef> operands,
                          bool by_columns);

}  // namespace mlc::graph
