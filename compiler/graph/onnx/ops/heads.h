// Attention heads, shared by several operators. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// Operand 0, of rank `rank`, times operand 1, the weights of q, k and v side by side, plus operand
// 2, their bias, if there is one; and the widths of q, k and v (qkv_hidden_sizes, or thirds). Fails
// if the weights do not fit.
struct SideBySide {
  ValueId all = kNoValue;
  Dims sizes;
};
SideBySide ProjectSideBySide(OpContext& c, int rank);

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
