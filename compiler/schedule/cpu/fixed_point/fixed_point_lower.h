// Builds the kernel of a fixed_point plan. Thread-safe.
#pragma once

#include "compiler/schedule/cpu/fixed_point/fixed_point_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

LoweredKernel LowerFixedPoint(const graph::Workload& workload, const ContractionProblem& problem,
                              const target::Target& target, const FixedPointPlan& plan);

}  // namespace mlc::schedule
