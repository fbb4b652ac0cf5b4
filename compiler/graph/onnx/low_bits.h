// Element types of ONNX tensors that are narrower than those of the graph. Reading a tensor widens
// them to a type that holds all their values. Immutable; thread-safe.
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
