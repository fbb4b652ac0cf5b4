// The two forms of x times the normal distribution up to x. Not thread-safe, as Builder.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

ValueId ErfGelu(Builder& b, ValueId x);
// The usual approximation.
ValueId TanhGelu(Builder& b, ValueId x);

}  // namespace mlc::graph::onnx
