// Attributes that convolutions and pools share: kernel, strides, dilations and pads, with the
// automatic padding modes resolved.
#pragma once

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

struct Window {
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims pads;  // begins, then ends

  size_t rank() const { return kernel.size(); }
  // Elements from the first to one past the last one that the window covers.
  int64_t Reach(size_t axis) const { return dilations[axis] * (kernel[axis] - 1) + 1; }
};

// The window over the spatial dimensions of `x`; fails on lists of the wrong length and on values
// out of range, after which the window must not be used.
Window ReadWindow(OpContext& c, ValueId x, Dims kernel);

// Puts the window's attributes on a node.
void SetWindow(const Window& window, Value& node);

}  // namespace mlc::graph::onnx
