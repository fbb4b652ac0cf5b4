// Emits the kernel of a contraction plan: implicit matrix multiplication over register tiles; the
// epilogue is applied to the accumulators before they are stored. Thread-safe.
#pragma once

#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// `for_rows`: as Problem::LowerForRows says.
LoweredKernel LowerContraction(const graph::Workload& workload, const ContractionProblem& problem,
                               const ContractionPlan& plan, bool for_rows = false);

}  // namespace mlc::schedule
