// Kernels of a library that takes ranges: loops over rows end where a run needs no more. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/graph/program.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"

namespace mlc::package {

// By parameter: how far the rows of an output lie apart (ir/stored_rows.h).
std::vector<int64_t> RowElementsOf(const graph::Workload& workload, const TaskKernel& kernel);

// Gives a limit to the kernels for CPUs of tasks some steps of which need a part of the rows.
void LimitKernels(const graph::Program& program, std::span<const Plan> plans,
                  std::vector<TaskKernel>& kernels);

}  // namespace mlc::package
