// Matrix products and convolutions, shared by several operators. Not thread-safe, as OpContext.
#pragma once

#include <functional>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// The product of two values of rank 2 or more.
using MatMulForm = std::function<ValueId(ValueId x, ValueId y)>;

// The product of values of any rank. A vector on the left becomes a row, one on the right a column;
// the added dimension is removed from the result.
ValueId MatMulOfAnyRank(OpContext& c, ValueId x, ValueId y, const MatMulForm& product_of);

// Quantises `x` by its range to 8 bits, multiplies it by 8-bit integers `y` minus their zero point
// (f32), and returns real numbers. `scale` is that of y: one value, or one per column.
ValueId DynamicProduct(OpContext& c, ValueId x, ValueId y, ValueId scale);

// The operand indices of 8-bit integers and their optional zero points.
struct IntegerOperands {
  int x;
  int y;
  int x_zero;
  int y_zero;
};

// The exact product of x and y, each minus its zero point, times `scale`: one value, or one per
// column.
ValueId ScaledIntegerProduct(OpContext& c, const IntegerOperands& operands, ValueId scale);

// The convolution that the node's attributes describe, of `x` and `w`, without bias.
ValueId Convolution(OpContext& c, ValueId x, ValueId w);

// Adds a bias with one entry per channel to `y` of rank 2 or more.
ValueId PlusBias(OpContext& c, ValueId y, ValueId bias);

// Inserts strides[i]-1 zeros after every element but the last of spatial dimension i.
ValueId Spread(Builder& b, ValueId x, const Dims& strides);

}  // namespace mlc::graph::onnx
