// precision: the element type that a model computes in. Narrow floats replace the model's floats
// between its edges: inputs are cast where they enter, outputs where they leave, weights are
// converted here. Constants beyond the narrow range (masks of -3.4e38) become its largest finite
// values. Some values stay f32 because a narrow float cannot hold them: converted integers, the
// squares and powers that a reduction sums up, its result, and the arithmetic on such values alone.
// tf32 leaves the types and marks products with the attribute precision=tf32. Before: constants are
// folded into weights. f64 is left as it is. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/graph/graph.h"

namespace mlc::graph {

enum class Precision : uint8_t { kModel, kFp32, kTf32, kFp16, kBf16 };

// "model", "fp32", "tf32", "fp16", "bf16".
std::string_view ToText(Precision precision);
Result<Precision> ParsePrecision(std::string_view text);

// The tolerance of a task (workload.h) that rounding to the precision stays within.
double ToleranceOf(Precision precision);

// True if the graph changed; kModel changes nothing. INVALID_ARGUMENT for a constant that is known
// by digest only.
Result<bool> ConvertPrecision(Graph& graph, Precision precision);

// Converts every float between the graph's edges to f64. The reference evaluates this graph, so
// that only the outputs are rounded.
Result<bool> WidenToDouble(Graph& graph);

}  // namespace mlc::graph
