// Detects that the wall clock was set back. gRPC's timers (keepalive, deadlines, reconnecting) use
// the wall clock: after a step back they do not fire until the clock has caught up, which takes a
// day after a step of a day. Only a new process has working timers, so a daemon that sees such a
// step exits and its supervisor restarts it. Not thread-safe.
#pragma once

#include <cstdint>

namespace mlc::transport {

class ClockWatch {
 public:
  // A step below this delays timers for a short time only, so the daemon continues.
  static constexpr int64_t kMostMs = 60'000;

  ClockWatch();
  // With clocks of the caller's.
  ClockWatch(int64_t wall_ms, int64_t steady_ms) : ahead_ms_(wall_ms - steady_ms) {}

  // How far the wall clock has fallen behind the steady clock since the start, in milliseconds; 0
  // below the threshold.
  int64_t SetBackMs();
  int64_t SetBackMs(int64_t wall_ms, int64_t steady_ms);

 private:
  int64_t ahead_ms_;  // the most that the wall clock was ahead of the steady one
};

}  // namespace mlc::transport
