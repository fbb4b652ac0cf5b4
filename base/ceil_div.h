// Division of integers that rounds up. Pure; thread-safe.
#pragma once

#include <cstdint>

namespace mlc {

// Towards positive infinity. REQUIRES: b > 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : a / b; }

}  // namespace mlc
