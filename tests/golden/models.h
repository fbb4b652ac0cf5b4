// Small ONNX files, as bytes, for golden tests and docs.
#pragma once

#include <string>

namespace mlc::golden {

// Convolution, batch norm, relu; a block with a residual add; global average; dense; softmax.
std::string ResidualNetwork();

// Relu of one 3x3 convolution with a bias: 64 channels to 64, on 28 x 28 pixels.
std::string OneConvolution();

}  // namespace mlc::golden
