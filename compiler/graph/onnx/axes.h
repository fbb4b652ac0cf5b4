// Axes as nodes name them. Errors go to the context and stick there. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// `axis` counted from the front; fails if it lies outside [-rank, rank).
int64_t Axis(OpContext& c, int64_t axis, int64_t rank);
// Each normalised; fails on a repeated one.
Dims Axes(OpContext& c, Dims axes, int64_t rank);
// The axes from operand `i` or, before it existed, from attribute "axes"; nullopt if absent.
std::optional<Dims> AxesOperandOrAttr(OpContext& c, int i);

}  // namespace mlc::graph::onnx
