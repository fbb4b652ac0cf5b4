// Products of bytes: recognises a product of floats that are 8-bit codes minus their zero points,
// and computes it in integers, which is exact. Kernels multiply u8 by i8, so the codes of rows
// become u8 and those of weights i8, whatever they were, and what zero points add is subtracted
// from the sums. Pure functions of the graph that they extend; thread-compatible.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// The sums of `product`, a matmul or conv of floats, as an i32 value of its dims; nothing unless
//   - its left operand is cast(codes) or sub(cast(codes), zero): codes u8 or i8, zero one number;
//   - its right operand is the same of a constant, perhaps transposed, with one zero for all, such
//     that codes minus zero fit i8;
//   - kernels take it: the depth of a matmul is a multiple of 4, its right operand of rank 2; a
//     conv has one to three spatial dimensions, and one group of three or more channels, which are
//     padded to a multiple of 4, or, if `filters`, one filter for each channel.
std::optional<ValueId> SumsOfBytes(Graph& graph, const Value& product, bool filters);

// Codes times a scale: what DequantizeLinear gives.
struct ScaledCodes {
  ValueId centred = kNoValue;  // cast(codes) or sub(cast(codes), zero), perhaps transposed
  ValueId scale = kNoValue;
};
std::optional<ScaledCodes> FindScaledCodes(Graph& graph, ValueId value);

// True for a matmul or conv of u8 and i8.
bool IsProductOfBytes(const Graph& graph, const Value& node);

}  // namespace mlc::graph
