// A config of the warpgroup_contraction family read as the decisions of a TensorPlan: a step takes
// 128 bytes of k, the span of the matrix units' swizzle; groups_m x groups_n warpgroups share the
// tile. Thread-safe (no state).
#pragma once

#include "compiler/schedule/cuda/tensor/tensor_plan.h"

namespace mlc::schedule {

// Whether both operands lie along k, or are packed so, in a type that the instructions take.
bool WarpgroupsMultiply(const GpuContraction& g);
TensorPlan MakeWarpgroupPlan(const GpuContraction& g, const Config& config);
RejectReason CheckWarpgroupPlan(const GpuContraction& g, const target::Target& target,
                                const TensorPlan& plan);

}  // namespace mlc::schedule
