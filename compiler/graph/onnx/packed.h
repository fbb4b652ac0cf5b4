// Repeated numbers of the protobuf wire format: a field has one number, or many packed numbers.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {

// Appends the numbers of the reader's field. It stops once `ints` has `limit` + 1 numbers, so that
// the caller detects the excess without storing it.
Status AppendInts(const WireReader& reader, std::vector<int64_t>& ints, size_t limit = SIZE_MAX);
Status AppendFloats(const WireReader& reader, std::vector<float>& floats);

}  // namespace mlc::graph::onnx
