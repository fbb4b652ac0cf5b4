// Wire format to messages. Unknown fields are skipped, newer versions are tolerated; counts, depth
// and rank are limited, so that memory stays proportional to the file. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {

inline constexpr int kMaxRank = 8;

struct ParseLimits {
  int64_t nodes = 400'000;  // of the whole file, subgraphs and functions included
  int64_t messages = 4'000'000;
  int depth = 32;  // of nested subgraphs
  size_t name_bytes = 4096;
  // Read what the file says of values between nodes. Nothing but a survey believes it.
  bool value_info = false;
};

// INVALID_ARGUMENT if the bytes are not such a message, RESOURCE_EXHAUSTED never: a file over a
// limit is the file's fault. The messages borrow `bytes`.
Result<ModelMessage> ParseModel(std::string_view bytes, const ParseLimits& limits);
Result<TensorMessage> ParseTensor(std::string_view bytes);

}  // namespace mlc::graph::onnx
