// What a config of an image_convolution implies, and its time by estimate. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/image/image_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

KernelFacts ImageFacts(const graph::Workload& workload, const ImageProblem& p,
                       const target::Target& target, const ImagePlan& plan);
// Clock cycles of the launch.
double ImageCycles(const ImageProblem& p, const target::Target& target, const ImagePlan& plan);

}  // namespace mlc::schedule
