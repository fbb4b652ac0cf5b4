// Convolutions of images, as networks begin with: few channels, a small kernel, and so little depth
// that a GPU reads the image as it is rather than in pieces along channels. A pure function;
// thread-safe.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// True if the convolution of an image with such filters is one: 16-bit floats, or f32 that may be
// rounded to tf32, two dimensions, up to four channels. REQUIRES: a kConv without the types of its
// operands.
bool IsImageConvolution(const Value& conv, const TensorType& image, const TensorType& filters);

}  // namespace mlc::graph
