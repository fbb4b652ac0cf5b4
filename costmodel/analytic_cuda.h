// The analytic model of kernels on CUDA devices. A pure function.
#pragma once

#include "costmodel/analytic.h"

namespace mlc::costmodel {

// In the parts, l1 stands for the on-chip memory of blocks, l2 for the L2 cache, compute for the
// arithmetic and matrix units together; l3 is unused. REQUIRES: target.is_cuda().
Estimate EstimateCudaKernel(const schedule::KernelFacts& facts, const target::Target& target);

}  // namespace mlc::costmodel
