// The reference evaluator: evaluates graphs one node at a time, without optimisation, and
// accumulates in double. Tests, workers and constant folding take its results as correct. It works
// on logical values: strides have no effect, and every tensor is dense row-major. Thread-safe (no
// shared state).
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// The value of one node, from the values of its operands (null for absent ones). `threads`: for
// large products; 0: as many as there are CPUs. The result does not depend on it.
Result<TensorDataRef> EvaluateNode(const Value& node, const std::vector<TensorDataRef>& operands,
                                   int threads = 0);

// `sources`: values of the kInput and kWeight nodes in order of id. Returns the outputs in order.
Result<std::vector<TensorDataRef>> Evaluate(const Graph& graph,
                                            const std::vector<TensorDataRef>& sources,
                                            int threads = 0);

}  // namespace mlc::graph
