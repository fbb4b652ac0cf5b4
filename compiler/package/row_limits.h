// Kernels of a library that takes ranges: loops over rows end where a run needs no more. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::package {

// By parameter: how far the rows of an output lie apart (ir/stored_rows.h).
std::vector<int64_t> RowElementsOf(const graph::Workload& workload, const TaskKernel& kernel);

// The kernel of a config with a limit, if it has loops for one.
Result<schedule::LoweredKernel> LowerLimited(const graph::Workload& workload,
                                             const target::Target& target,
                                             const schedule::Config& config);
// Gives a limit to the kernels for CPUs of tasks some steps of which need a part of the rows.
// `choices`: by task.
Status LimitKernels(const graph::Program& program, std::span<const Plan> plans,
                    std::span<const Choice> choices, const target::Target& target,
                    std::vector<TaskKernel>& kernels);

}  // namespace mlc::package
