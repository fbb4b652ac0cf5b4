// Types from operands: one rule per operator, used by the verifier, the importer and the passes.
// Hostile input is safe: every product is checked, every list is counted. Thread-safe.
#pragma once

#include <span>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// INVALID_ARGUMENT if the element count or strides exceed the limits (ops.h).
Status CheckType(const TensorType& type);

// The dtype and dims of the node's result (without strides). `operands`: one per operand, null if
// absent. For sources, cast, reshape, expand, slice, resize, nonzero, suppress, view, copy and
// dequantize, the node's own `type` is the wanted result, and the rule checks it. REQUIRES:
// attributes of the right kinds are present (CheckAttrs).
Result<TensorType> InferType(const Value& node, std::span<const TensorType* const> operands);

// Operand count and attributes of the node against the table in ops.h.
Status CheckAttrs(const Value& node);

// CheckAttrs and InferType, then Graph::Add with the inferred type.
Result<ValueId> AddInferred(Graph& graph, Value node);

namespace shape_internal {
// Rules by group; same contract as InferType.
using Types = std::span<const TensorType* const>;
Result<TensorType> InferContraction(const Value& node, Types operands);
Result<TensorType> InferReduction(const Value& node, Types operands);
Result<TensorType> InferMovement(const Value& node, Types operands);
Result<TensorType> InferIndexed(const Value& node, Types operands);
Result<TensorType> InferSelection(const Value& node, Types operands);
// An axis in [0, rank); INVALID_ARGUMENT else.
Status CheckAxis(int64_t axis, int rank);
}  // namespace shape_internal

}  // namespace mlc::graph
