// Element types of a tensor in a file that are narrower than any of the graph's: they widen to one
// that holds all their numbers when the tensor is read. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph::onnx {

struct LowBitType {
  int32_t onnx_type;
  int bits;    // several elements of fewer than 8 share a byte, the first in the low bits
  DType wide;  // holds each number exactly
};

// Null for types that are not narrow.
const LowBitType* FindLowBitType(int32_t onnx_type);

// Bytes of `count` elements. REQUIRES: count >= 0.
int64_t PackedBytes(const LowBitType& type, int64_t count);

// REQUIRES: `packed` has the bytes of the elements of `dims`.
TensorDataRef WidenLowBits(const LowBitType& type, const std::vector<int64_t>& dims,
                           std::string_view packed);

}  // namespace mlc::graph::onnx
