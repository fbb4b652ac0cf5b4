// Tensor bytes to numbers and back, for the evaluator, the text form and the passes. Floats are
// read exactly; writing rounds to nearest even, saturates nothing and wraps integers. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// All elements in order. Integers beyond 2^53 lose precision in ReadDoubles; ReadInts truncates
// floats towards zero, saturating.
std::vector<double> ReadDoubles(const TensorData& data);
std::vector<int64_t> ReadInts(const TensorData& data);
TensorDataRef WriteDoubles(DType dtype, std::vector<int64_t> dims, std::span<const double> values);
TensorDataRef WriteInts(DType dtype, std::vector<int64_t> dims, std::span<const int64_t> values);

// One element. REQUIRES: index is in range.
double ReadDouble(const TensorData& data, int64_t index);
int64_t ReadInt(const TensorData& data, int64_t index);

// The constant's tensor: its data, or the splat written out. Null if it is not a constant, or known
// by digest only.
TensorDataRef ConstantData(const Value& value);

}  // namespace mlc::graph
