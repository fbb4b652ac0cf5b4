// Codes of a byte, and the numbers that they stand for. Constants of f16, as which float8 weights
// are imported, become float8 again. Pure.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// What each of the 256 codes of a type of one byte stands for.
std::vector<double> NumbersOfCodes(DType dtype);

// The tensor as f8e4m3fn or f8e5m2, the first that has all of its numbers; nothing if none has, if
// there are no numbers, or if one is a NaN. Float8 tensors are returned as they are.
std::optional<TensorDataRef> AsFloat8(const TensorDataRef& data);

// Whether all numbers are finite. REQUIRES: the data is of float8.
bool IsFinite(const TensorData& data);

}  // namespace mlc::graph
