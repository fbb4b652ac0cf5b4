// Attention heads as several operators need them. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// [batch, sequence, heads * size] to [batch, heads, sequence, size]; fails if `heads` does not
// divide the last dimension.
ValueId SplitHeads(OpContext& c, ValueId x, int64_t heads);
// The way back.
ValueId JoinHeads(Builder& b, ValueId x);
// Each head of keys or values [batch, heads, sequence, size] serves `times` heads of queries.
ValueId RepeatHeads(Builder& b, ValueId x, int64_t times);

// 0, 1, ... count - 1; fails if these are too many positions for a mask.
ValueId Numbered(Builder& b, int64_t count);

// softmax(scale q k^T + bias) v of split heads; `bias` may be kNoValue.
ValueId AttendTo(Builder& b, ValueId q, ValueId k, ValueId v, ValueId bias, double scale);

}  // namespace mlc::graph::onnx
