// Weights of few bits in the form of FewBitsForm: what the machine that compiles does once. Pure.
#pragma once

#include <vector>

#include "compiler/schedule/cuda/few_bits/few_bits_plan.h"

namespace mlc::schedule {

// Codes, scales and, where blocks have them, zeros: the parameters of the kernel in this order.
std::vector<Preparation> FewBitsPreparations(const graph::Workload& workload,
                                             const GpuContraction& g);

}  // namespace mlc::schedule
