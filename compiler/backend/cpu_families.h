// The list of families for CPUs. Thread-safe.
#pragma once

#include <span>

#include "compiler/schedule/space/family.h"

namespace mlc::backend {

// In order of preference for Default. They accept workloads on CPUs only.
std::span<const schedule::Family* const> CpuFamilies();

}  // namespace mlc::backend
