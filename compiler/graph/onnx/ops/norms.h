// Normalisations, shared by several operators. Not thread-safe, as Builder.
#pragma once

#include <vector>

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// Layer normalisation of x over the dimensions from `axis` on. `operands`: x, scale and shift; the
// last two are optional.
ValueId LayerNorm(Builder& b, std::vector<ValueId> operands, int64_t axis, double epsilon);

// scale * x / root of the mean square over the dimensions from `axis` on.
ValueId RmsNorm(Builder& b, ValueId x, ValueId scale, int64_t axis, double epsilon);

}  // namespace mlc::graph::onnx
