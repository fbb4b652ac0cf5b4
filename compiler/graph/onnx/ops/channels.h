// Moves the channel dimension of a value. Not thread-safe, as Builder.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// From [N, ..., C] to [N, C, ...]; fails below rank 3.
ValueId ChannelsSecond(Builder& b, ValueId x);
// The inverse.
ValueId ChannelsLast(Builder& b, ValueId x);

}  // namespace mlc::graph::onnx
