// The parts of the evaluator, one per group of operators. For evaluate*.cc only. Thread-safe (no
// shared state).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph::evaluate_internal {

using Operands = std::span<const TensorDataRef>;

Result<TensorDataRef> EvaluatePointwise(const Value& node, Operands operands, int threads);
Result<TensorDataRef> EvaluateCast(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateContraction(const Value& node, Operands operands, int threads);
Result<TensorDataRef> EvaluatePool(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateAttention(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateReduction(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateMovement(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateIndexed(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateSelection(const Value& node, Operands operands);
Result<TensorDataRef> EvaluateResize(const Value& node, Operands operands);
// `operand_type`: with the strides of the operand's storage.
Result<TensorDataRef> EvaluateView(const Value& node, const TensorType& operand_type,
                                   const TensorData& operand);

// Strides that walk `from` (dense) in the index space of `to`: 0 where `from` is broadcast.
std::vector<int64_t> BroadcastStrides(const std::vector<int64_t>& from,
                                      const std::vector<int64_t>& to);
int64_t CountOf(std::span<const int64_t> dims);

// Calls `work` on so many threads at most, this one among them, and waits for all; 0: as many as
// there are CPUs, and no more than `most`. The calls share what is to be done.
void OnThreads(int threads, int64_t most, const std::function<void()>& work);

// Steps `at` to the next index of `dims` in row-major order; false after the last.
bool NextIndex(std::span<const int64_t> dims, std::vector<int64_t>& at);

}  // namespace mlc::graph::evaluate_internal
