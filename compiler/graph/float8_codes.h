// Constants of f16, as which float8 weights are imported, as float8 again. Pure.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// The tensor as f8e4m3fn or f8e5m2, the first that has all of its numbers; nothing if none has, if
// there are no numbers, or if one is a NaN. Float8 tensors are returned as they are.
std::optional<TensorDataRef> AsFloat8(const TensorDataRef& data);

// Whether all numbers are finite. REQUIRES: the data is of float8.
bool IsFinite(const TensorData& data);

}  // namespace mlc::graph
