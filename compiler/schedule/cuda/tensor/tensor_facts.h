// What a plan of the tensor_contraction family implies, and how long it should take. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

KernelFacts TensorFacts(const graph::Workload& workload, const GpuContraction& g,
                        const target::Target& target, const TensorPlan& plan);
// Blocks that a multiprocessor holds at once, by their resources.
double BlocksPerSm(const target::Target& target, const TensorPlan& plan);
// How many a launch should leave registers for: as many as there will be, and not fewer.
int ResidentBlocks(const GpuContraction& g, const target::Target& target, const TensorPlan& plan);
// Estimated clock cycles of the kernel; only their order matters.
double TensorCycles(const GpuContraction& g, const target::Target& target, const TensorPlan& plan);

}  // namespace mlc::schedule
