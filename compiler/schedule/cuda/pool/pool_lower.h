// Pooling on a GPU: a thread computes one output, or a vector of neighbouring channels. Windows
// inside the input run without conditions. Thread-safe.
#pragma once

#include <optional>

#include "compiler/schedule/cpu/window/window_lower.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

// The problem with the widest vectors of channels that divide their number; lanes of 1 if channels
// are not the innermost dimension.
std::optional<WindowProblem> FindPool(const graph::Workload& workload);

// Outputs over vectors of problem.lanes.
int64_t PoolPoints(const WindowProblem& problem);

LoweredKernel LowerPool(const graph::Workload& workload, const WindowProblem& problem, int threads);

}  // namespace mlc::schedule::gpu
