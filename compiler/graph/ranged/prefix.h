// Proves that a graph computes at smaller sizes. Two graphs are of one model: `exact` at the size
// of a run, `padded` at the size of its class. Each value of `exact` is to be the first elements of
// the same value of `padded`: those whose index is below the exact value's length on every axis.
// Inputs are so by filling them up; the proof follows the nodes, one rule for each operator, and
// notes where an operator reads elements beyond the length (needs.h). Padding may hold any
// numbers, NaN too: no rule relies on what it holds, unless a need has just masked it.
//
// Pure; thread-safe.
#pragma once

#include <functional>

#include "base/status.h"
#include "compiler/graph/ranged/needs.h"

namespace mlc::graph {

// Whether two constants of equal shape have equal values. May be quicker than a comparison of all
// bytes, for constants of one file.
using SameConstants = std::function<bool(const TensorData&, const TensorData&)>;

// UNIMPLEMENTED if the proof fails, with the node and the reason. REQUIRES: both graphs verify.
Result<Needs> ProvePrefix(const Graph& exact, const Graph& padded, const SameConstants& same);

}  // namespace mlc::graph
