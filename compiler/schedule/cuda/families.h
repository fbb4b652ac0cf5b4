// The list of families for CUDA devices. Thread-safe.
#pragma once

#include <span>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// In order of preference for Default. They accept workloads on CUDA targets only.
std::span<const Family* const> CudaFamilies();

}  // namespace mlc::schedule
