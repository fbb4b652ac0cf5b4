// Quantisation, shared by several operators. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// round(x / scale) + zero point, saturated to `to`: u8, i8 or i16. `zero` may be absent. Of floats
// of 8 bits, x / scale as Cast converts it: what is too large becomes the largest number, or, if it
// does not saturate, infinite or NaN.
ValueId Quantized(Builder& b, ValueId x, ValueId scale, ValueId zero, DType to,
                  bool saturates = true);

// Repeats a scale or zero point per block of `block` elements of x along the axis, so that there is
// one per element. Fails if the number of blocks does not match.
ValueId RepeatBlocks(OpContext& c, ValueId x, ValueId parameter, int64_t axis, int64_t block);

struct DynamicQuantisation {
  ValueId values = kNoValue;  // u8
  ValueId scale = kNoValue;
  ValueId zero = kNoValue;
};

// Quantises x with the scale of its range, as ONNX DynamicQuantizeLinear.
DynamicQuantisation QuantizedByRange(Builder& b, ValueId x);

}  // namespace mlc::graph::onnx
