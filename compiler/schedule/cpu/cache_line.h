// The unit in which caches and memory exchange data, on every CPU that kernels are made for.
#pragma once

#include <cstdint>

namespace mlc::schedule {

inline constexpr int64_t kCacheLineBytes = 64;

}  // namespace mlc::schedule
