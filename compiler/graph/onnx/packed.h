// Repeated numbers of the wire format: a field carries one of them, or many packed together.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {

// Appends the numbers of the reader's field. Of a packed field it reads no more than make `ints`
// longer than `limit` by one, so that a caller sees the excess without holding it.
Status AppendInts(const WireReader& reader, std::vector<int64_t>& ints, size_t limit = SIZE_MAX);
Status AppendFloats(const WireReader& reader, std::vector<float>& floats);

}  // namespace mlc::graph::onnx
