// The kernel of an image_convolution. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/image/image_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// `per_sm`: blocks that a multiprocessor should hold at once.
LoweredKernel LowerImage(const graph::Workload& workload, const ImageProblem& p,
                         const ImagePlan& plan, int per_sm);

}  // namespace mlc::schedule
