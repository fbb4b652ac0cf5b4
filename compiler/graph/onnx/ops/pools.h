// Pooling, shared by several operators. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// Average-pools `x` over the windows of the node's attributes.
ValueId AveragePooled(OpContext& c, ValueId x);

}  // namespace mlc::graph::onnx
