// The server's two clocks: leases use the steady one, records are stamped with the other.
#pragma once

#include <chrono>
#include <cstdint>

namespace mlc::server {

inline int64_t SteadyMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Microseconds since 1970.
inline int64_t WallUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace mlc::server
