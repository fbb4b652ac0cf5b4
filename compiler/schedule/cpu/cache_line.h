// The cache-line size of all CPUs that kernels are generated for.
#pragma once

#include <cstdint>

namespace mlc::schedule {

inline constexpr int64_t kCacheLineBytes = 64;

}  // namespace mlc::schedule
