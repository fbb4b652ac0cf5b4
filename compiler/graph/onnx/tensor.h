// Tensor messages to tensor data. Little-endian data that is aligned for its element type stays in
// the mapping (TensorData.owner keeps it); other data is copied. Thread-safe apart from the
// ExternalFiles passed in.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {

// UNIMPLEMENTED for types without a counterpart (string, complex). INVALID_ARGUMENT for numbers
// that name no type.
Result<DType> DTypeOf(int32_t onnx_type);

// Elements of `dims`; INVALID_ARGUMENT naming `what` for a negative dimension, a rank over the
// limit or more bytes than any value may take.
Result<int64_t> CheckedElements(const std::vector<int64_t>& dims, DType dtype,
                                const std::string& what);

// What becomes of elements of 2 and 4 bits and of floats of 8 bits.
enum class SmallElements : uint8_t { kWiden, kKeep };

// Reads a tensor. `owner` keeps the bytes that `message` borrows alive; `files` opens external data
// (null: an error).
Result<TensorDataRef> ReadTensor(const TensorMessage& message,
                                 const std::shared_ptr<const void>& owner, ExternalFiles* files,
                                 SmallElements small = SmallElements::kWiden);

}  // namespace mlc::graph::onnx
