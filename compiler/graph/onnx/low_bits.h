// ONNX tensors of elements of 2 and 4 bits and of floats of 8 bits. Files store several elements of
// fewer than 8 bits in a byte, the first in the low bits. Constants of a model are widened to a
// type that holds all their values; other tensors have a byte for each element. Immutable;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph::onnx {

struct LowBitType {
  int32_t onnx_type;
  DType dtype;  // the same type
  DType wide;   // holds each number exactly
};

// Null for types that are not narrow.
const LowBitType* FindLowBitType(int32_t onnx_type);
const LowBitType* FindLowBitType(DType dtype);

// Bytes of `count` elements. REQUIRES: count >= 0.
int64_t PackedBytes(const LowBitType& type, int64_t count);

// REQUIRES, here and below: `packed` has the bytes of the elements of `dims`.
TensorDataRef WidenLowBits(const LowBitType& type, const std::vector<int64_t>& dims,
                           std::string_view packed);
// Elements of the type itself.
TensorDataRef UnpackLowBits(const LowBitType& type, const std::vector<int64_t>& dims,
                            std::string_view packed);
// The bytes that a file stores of elements of type.dtype.
std::string PackLowBits(const LowBitType& type, const TensorData& data);

}  // namespace mlc::graph::onnx
