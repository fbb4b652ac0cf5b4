// Attention heads, shared by several operators. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// [batch, sequence, heads * size] to [batch, heads, sequence, size]; fails if `heads` does not
// divide the last dimension.
ValueId SplitHeads(OpContext& c, ValueId x, int64_t heads);
// The inverse.
ValueId JoinHeads(Builder& b, ValueId x);
// Repeats each head of keys or values [batch, heads, sequence, size] for `times` heads of queries.
ValueId RepeatHeads(Builder& b, ValueId x, int64_t times);

// The constant 0, 1, ... count - 1; fails if there are too many positions for a mask.
ValueId Numbered(Builder& b, int64_t count);

// softmax(scale q k^T + bias) v of split heads; `bias` may be kNoValue.
ValueId AttendTo(Builder& b, ValueId q, ValueId k, ValueId v, ValueId bias, double scale);

}  // namespace mlc::graph::onnx
