// Pooling on a GPU: a thread takes one output, or a vector of neighbouring channels. Windows that
// lie inside the input run without conditions. Thread-safe.
#pragma once

#include <optional>

#include "compiler/schedule/cpu/window/window_lower.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

// The widest vectors of channels of which there is a whole number; lanes of 1 where channels are
// not the innermost dimension.
std::optional<WindowProblem> FindPool(const graph::Workload& workload);

// Outputs over vectors of problem.lanes.
int64_t PoolPoints(const WindowProblem& problem);

LoweredKernel LowerPool(const graph::Workload& workload, const WindowProblem& problem, int threads);

}  // namespace mlc::schedule::gpu
