// The steady clock as a number, for durations. The server's clocks, which simulations let jump, are
// in clock.h. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace mlc {

inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline int64_t NowMs() { return NowNs() / 1'000'000; }
inline double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mlc
