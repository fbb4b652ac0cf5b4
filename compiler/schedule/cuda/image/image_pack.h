// The filters of an image_convolution in the order of the kernel's fragments. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/image/image_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// [tile of filters][step][pair of column tiles][lane][element]. Of the eight columns of tile j of
// four, a thread's sums have columns 2q and 2q + 1: these are filters 8q + 2j and the next, so that
// a thread has eight neighbours.
Preparation PackImageFilters(const graph::Workload& workload, const ImageProblem& p,
                             const ImagePlan& plan);

}  // namespace mlc::schedule
