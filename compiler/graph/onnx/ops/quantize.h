// Quantisation as several operators need it. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// round(x / scale) + zero point, saturated to `to`: u8, i8 or i16. `zero` may be absent.
ValueId Quantized(Builder& b, ValueId x, ValueId scale, ValueId zero, DType to);

// A scale or zero point for each block of `block` elements of x along the axis, repeated to one an
// element; fails if there is not one a block.
ValueId RepeatBlocks(OpContext& c, ValueId x, ValueId parameter, int64_t axis, int64_t block);

struct DynamicQuantisation {
  ValueId values = kNoValue;  // u8
  ValueId scale = kNoValue;
  ValueId zero = kNoValue;
};

// x on the scale that its own range needs.
DynamicQuantisation QuantizedByRange(Builder& b, ValueId x);

}  // namespace mlc::graph::onnx
