// Lowering of the tensor_contraction family. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

Result<LoweredKernel> LowerTensor(const graph::Workload& workload, const GpuContraction& g,
                                  const TensorPlan& plan);

}  // namespace mlc::schedule
