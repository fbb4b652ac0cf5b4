// Columns as the kernel reads them: panels of words of codes, with their scales and zeros.
//
//   codes   [panel][group][word][panel width]      i32, as fixed_point_plan.h says
//   scales  [panel][block][panel width]            zeros alike, where there are any
#pragma once

#include <vector>

#include "compiler/schedule/cpu/fixed_point/fixed_point_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// Codes, scales and, if there are any, zeros, in this order.
std::vector<Preparation> FixedPointPreparations(const graph::Workload& workload,
                                                const ContractionProblem& problem,
                                                const FixedPointPlan& plan);

}  // namespace mlc::schedule
