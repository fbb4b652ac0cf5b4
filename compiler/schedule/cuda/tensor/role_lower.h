// Lowering of the role_contraction family. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/tensor/role_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

Result<LoweredKernel> LowerRoles(const graph::Workload& workload, const RoleProblem& problem,
                                 const RolePlan& plan);

}  // namespace mlc::schedule
