// The server's two clocks: leases use the steady one, records are stamped with the other. A
// simulation lets both jump ahead, so that a year of a server passes in seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mlc::server {

namespace clock_detail {
inline std::atomic<int64_t> skipped_ms = 0;
}

// For tests and benchmarks alone: so much time has passed, for all servers of this process.
inline void SkipMs(int64_t ms) { clock_detail::skipped_ms += ms; }

inline int64_t SteadyMs() {
  return clock_detail::skipped_ms + std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count();
}

// Microseconds since 1970.
inline int64_t WallUs() {
  return 1000 * clock_detail::skipped_ms + std::chrono::duration_cast<std::chrono::microseconds>(
                                               std::chrono::system_clock::now().time_since_epoch())
                                               .count();
}

}  // namespace mlc::server
