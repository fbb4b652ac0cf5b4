// Conversions of element types as ONNX defines them, to types of the graph of any size.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// How floats become powers of two (float8e8m0).
enum class ScaleRounding : uint8_t { kUp, kDown, kNearest };

struct Conversion {
  bool saturates = true;  // floats beyond the range of a float of 8 bits
  ScaleRounding rounding = ScaleRounding::kUp;
};

ValueId Converted(Builder& b, ValueId x, DType to, const Conversion& how = {});

}  // namespace mlc::graph::onnx
