// Quantisation as several operators need it. Not thread-safe, as Builder.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// round(x / scale) + zero point, saturated to `to`: u8, i8 or i16. `zero` may be absent.
ValueId Quantized(Builder& b, ValueId x, ValueId scale, ValueId zero, DType to);

struct DynamicQuantisation {
  ValueId values = kNoValue;  // u8
  ValueId scale = kNoValue;
  ValueId zero = kNoValue;
};

// x on the scale that its own range needs.
DynamicQuantisation QuantizedByRange(Builder& b, ValueId x);

}  // namespace mlc::graph::onnx
