// The constant operand of a tensor-core product, prepared in the order in which threads take their
// fragments: [batch][column tile][k step][16 (narrow) or 8 (4-byte) columns][16 k, of bytes 32]
// [thread of the warp][16 bytes], padded with zeros. A tile is one contiguous piece, copied as it
// is.
#pragma once

#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

int64_t TensorPackedElements(const GpuContraction& g, const TensorPlan& plan);
Preparation TensorPackPreparation(const graph::Workload& workload, const GpuContraction& g,
                                  const TensorPlan& plan);

}  // namespace mlc::schedule
