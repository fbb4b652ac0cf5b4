// Normalises the axes of ONNX nodes. Errors go to the context, which keeps the first one. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// `axis` counted from the front; fails if it lies outside [-rank, rank).
int64_t Axis(OpContext& c, int64_t axis, int64_t rank);
// Normalises each axis; fails if one is repeated.
Dims Axes(OpContext& c, Dims axes, int64_t rank);
// The axes from operand `i` or, in older operator versions, from attribute "axes"; nullopt if
// absent.
std::optional<Dims> AxesOperandOrAttr(OpContext& c, int i);

}  // namespace mlc::graph::onnx
