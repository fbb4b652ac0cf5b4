// Waits for a quiet machine. If two virtual CPUs share a physical core for a while, a kernel takes
// twice its time; inside the guest, only the speed of multiply-adds shows that. The gate probes
// this speed repeatedly, waits during a disturbance, and lets the timer repeat the disturbed
// samples, within a retry budget. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace mlc::worker {

// The environment of the gate; tests replace it.
struct MachineWatch {
  // Current speed of the machine relative to the reference speed: the best speed seen or, on a
  // shared machine, the usual speed (reference_speed.h). In (0, 1]; 1: undisturbed.
  std::function<double()> machine_speed;
  std::function<void(int64_t)> wait;  // waits this many nanoseconds
};

// The time of the timings of a runner and the runners before it, and the time lost by waiting and
// repeating. The lost time may be three times the timed one.
struct RetryBudget {
  int64_t timed_ns = 0;
  int64_t lost_ns = 0;
};

// The gate of one timing.
class QuietMachineGate {
 public:
  // `budget` is borrowed.
  QuietMachineGate(MachineWatch watch, RetryBudget& budget)
      : watch_(std::move(watch)), budget_(budget) {}

  // True if samples at this machine speed count as undisturbed.
  static bool IsQuiet(double speed);
  // True if the retry budget covers this many more nanoseconds.
  bool CanAfford(int64_t ns) const;
  // Waits while the machine is disturbed and the budget allows it; returns the last machine speed.
  double WaitUntilQuiet();
  // The machine speed now, without waiting.
  double Probe() const { return watch_.machine_speed(); }
  // Records the time of a timing, or of a part that has to be repeated.
  void AddTimed(int64_t ns) { budget_.timed_ns += ns; }
  void AddLost(int64_t ns) {
    budget_.lost_ns += ns;
    lost_ns_ += ns;
  }

 private:
  MachineWatch watch_;
  RetryBudget& budget_;
  int64_t lost_ns_ = 0;  // lost by this timing
};

}  // namespace mlc::worker
