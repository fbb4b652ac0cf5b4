// The order in which the clusters of a role_contraction kernel take its tiles. Values; thread-safe
// (no state).
#pragma once

#include <utility>

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/tensor/role_plan.h"

namespace mlc::schedule {

// Row and column of a unit, of those of its plan: along rows, along columns, or in bands of rows.
std::pair<ir::ExprRef, ir::ExprRef> UnitPlace(ir::KernelBuilder& b, const RolePlan& plan,
                                              const ir::ExprRef& unit);

}  // namespace mlc::schedule
