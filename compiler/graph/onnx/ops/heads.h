// Attention heads as several operators need them. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// [batch, sequence, heads * size] to [batch, heads, sequence, size]; fails if `heads` does not
// divide the last dimension.
ValueId SplitHeads(OpContext& c, ValueId x, int64_t heads);
// The way back.
ValueId JoinHeads(Builder& b, ValueId x);

// softmax(scale q k^T + bias) v of split heads; `bias` may be kNoValue.
ValueId AttendTo(Builder& b, ValueId q, ValueId k, ValueId v, ValueId bias, double scale);

}  // namespace mlc::graph::onnx
