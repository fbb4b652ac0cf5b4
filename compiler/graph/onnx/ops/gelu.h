// The Gaussian error linear unit: x times the cumulative normal distribution at x. Not thread-safe,
// as Builder. Source: Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

ValueId ErfGelu(Builder& b, ValueId x);
// The approximation with tanh.
ValueId TanhGelu(Builder& b, ValueId x);

}  // namespace mlc::graph::onnx
