// Parses the wire format into messages. Skips unknown fields and accepts newer versions. Limits
// counts, depth and rank, so that memory stays proportional to the file. Thread-safe.
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
  // Reads the value_info of values between nodes. Only a survey uses it, because it may be wrong.
  bool value_info = false;
};

// INVALID_ARGUMENT if the bytes are not such a message or exceed a limit. The messages borrow
// `bytes`.
Result<ModelMessage> ParseModel(std::string_view bytes, const ParseLimits& limits);
Result<TensorMessage> ParseTensor(std::string_view bytes);

}  // namespace mlc::graph::onnx
