// Detects that the wall clock was set back. gRPC's timers (keepalive, deadlines,
// reconnecting) wait for times of the day: after a step back they rest until the clock has caught
// up, for a day after a day's step. Only a new process has timers that run, so a daemon that sees
// such a step ends, for its supervisor to start it again. Not thread-safe.
#pragma once

#include <cstdint>

namespace mlc::transport {

class ClockWatch {
 public:
  // Timers rest for less: the daemon stays.
  static constexpr int64_t kMostMs = 60'000;

  ClockWatch();
  // With clocks of the caller's.
  ClockWatch(int64_t wall_ms, int64_t steady_ms) : ahead_ms_(wall_ms - steady_ms) {}

  // By how much the time of the day has fallen behind the steady clock since then, in milliseconds;
  // 0 if that is little.
  int64_t SetBackMs();
  int64_t SetBackMs(int64_t wall_ms, int64_t steady_ms);

 private:
  int64_t ahead_ms_;  // the most that the wall clock was ahead of the steady one
};

}  // namespace mlc::transport
