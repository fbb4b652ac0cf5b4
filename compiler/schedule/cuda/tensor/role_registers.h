// Registers of a role_contraction kernel: what its sums need, and how warps share them. All warps
// of a launch have as many; `setmaxnreg` (PTX ISA, section 9.7.19) moves them between groups of
// four warps. Pure functions, thread-safe; they borrow their arguments.
#pragma once

#include "compiler/schedule/cuda/tensor/role_plan.h"

namespace mlc::schedule {

// Estimate for a thread that multiplies.
int SumRegisters(const RolePlan& plan);
// That each thread can have at the launch.
int LaunchRegisters(const RolePlan& plan);

// After they have been moved, for each thread of a group that multiplies, and of the others.
struct RoleRegisters {
  int group, others;
};
RoleRegisters MovedRegisters(const RolePlan& plan);

}  // namespace mlc::schedule
