// The reference: evaluates graphs slowly and plainly, one node at a time, accumulating in double.
// It is the oracle for workloads, for constant folding and for whole models on reduced sizes.
// Logical values in, logical values out: strides play no part; every tensor is dense row-major.
// Thread-safe (no shared state).
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// The value of one node from its operands' values (absent operands are null). `threads`: that large
// products may use; 0: as many as there are CPUs. The result is the same with any number.
Result<TensorDataRef> EvaluateNode(const Value& node, const std::vector<TensorDataRef>& operands,
                                   int threads = 0);

// `sources`: values of the kInput and kWeight nodes in order of id. Returns the outputs in order.
Result<std::vector<TensorDataRef>> Evaluate(const Graph& graph,
                                            const std::vector<TensorDataRef>& sources,
                                            int threads = 0);

}  // namespace mlc::graph
