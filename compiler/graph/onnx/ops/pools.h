// Pools as several operators need them. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// The means of the windows that the node's attributes describe, of `x`.
ValueId AveragePooled(OpContext& c, ValueId x);

}  // namespace mlc::graph::onnx
