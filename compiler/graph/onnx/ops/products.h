// Matrix products and convolutions as several operators need them. Not thread-safe, as OpContext.
#pragma once

#include <functional>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// The product of two values of rank 2 or more.
using MatMulForm = std::function<ValueId(ValueId x, ValueId y)>;

// Vectors join as a row on the left and a column on the right, and leave again after.
ValueId MatMulOfAnyRank(OpContext& c, ValueId x, ValueId y, const MatMulForm& product_of);

// `x`, quantised by its range to 8 bits, times 8-bit integers `y` less their zero point (f32), as
// real numbers; `scale` is y's, one or one a column.
ValueId DynamicProduct(OpContext& c, ValueId x, ValueId y, ValueId scale);

// Operands of a node: 8-bit integers and their zero points, which may be absent.
struct IntegerOperands {
  int x;
  int y;
  int x_zero;
  int y_zero;
};

// The exact product of x and y, each less its zero point, times `scale`: one or one a column.
ValueId ScaledIntegerProduct(OpContext& c, const IntegerOperands& operands, ValueId scale);

// The convolution that the node's attributes describe, of `x` and `w`, without bias.
ValueId Convolution(OpContext& c, ValueId x, ValueId w);

// `y` of rank 2 or more, and a bias of one entry a channel.
ValueId PlusBias(OpContext& c, ValueId y, ValueId bias);

// strides[i]-1 zeros after every element but the last of spatial dimension i.
ValueId Spread(Builder& b, ValueId x, const Dims& strides);

}  // namespace mlc::graph::onnx
