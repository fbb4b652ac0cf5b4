// Filters of a depthwise plan rearranged so that the kernel reads them in order. Thread-safe.
#pragma once

#include <cstdint>

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/depthwise/depthwise_lower.h"
#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

// Channels from `channel` on that exist, at most `lanes`; null where all blocks are full.
ir::ExprRef ActiveFrom(const DepthwisePlan& plan, const ir::ExprRef& channel, int lanes);

int64_t PackedFilterElements(const ContractionProblem& problem, const DepthwisePlan& plan);
// Emits the phase that packs `source` into `packed`.
void EmitPackFilters(const ContractionProblem& problem, const DepthwisePlan& plan,
                     ir::BufferId source, ir::BufferId packed, ir::KernelBuilder& builder);

}  // namespace mlc::schedule
