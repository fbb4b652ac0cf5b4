// How long a config of the few_bits_contraction family takes, as far as it decides between configs.
// Pure.
#pragma once

#include "compiler/schedule/cuda/few_bits/few_bits_plan.h"

namespace mlc::schedule {

// Clock cycles; only their order matters. REQUIRES: the plan passes CheckFewBitsPlan.
double FewBitsCycles(const GpuContraction& g, const target::Target& target,
                     const FewBitsPlan& plan);

}  // namespace mlc::schedule
