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

// UNIMPLEMENTED for types without a counterpart (string, complex, 8-bit floats, ...); 4-bit
// integers count as 8 bits. INVALID_ARGUMENT for numbers that name no type.
Result<DType> DTypeOf(int32_t onnx_type);

// Elements of `dims`; INVALID_ARGUMENT naming `what` for a negative dimension, a rank over the
// limit or more bytes than any value may take.
Result<int64_t> CheckedElements(const std::vector<int64_t>& dims, DType dtype,
                                const std::string& what);

// Reads a tensor and widens elements that are narrower than any type of the graph. `owner` keeps
// the bytes that `message` borrows alive; `files` opens external data (null: an error).
Result<TensorDataRef> ReadTensor(const TensorMessage& message,
                                 const std::shared_ptr<const void>& owner, ExternalFiles* files);

}  // namespace mlc::graph::onnx
