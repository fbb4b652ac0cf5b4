// Waits for a quiet machine. Two virtual CPUs may share one physical core for a while, and a kernel
// then takes twice its time; inside the guest only the speed of multiply-adds shows it. The timer
// probes that speed again and again, waits while the machine is disturbed, and repeats the samples
// taken meanwhile, within a retry budget. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace mlc::worker {

// What the gate needs from outside; tests replace it.
struct MachineWatch {
  // Speed of the machine now, relative to the speed that timings are compared at: the best one seen
  // or, on a shared machine, the usual one (reference_speed.h). In (0, 1]; 1: undisturbed.
  std::function<double()> machine_speed;
  std::function<void(int64_t)> wait;  // for so many nanoseconds
};

// Time that the timings of a runner, and of the runners before it, took; and what they lost by
// waiting and repeating. They may lose three times what they take otherwise.
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

  // Whether samples taken at this machine speed count as undisturbed.
  static bool IsQuiet(double speed);
  // Whether the retry budget covers so many nanoseconds more.
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
  int64_t lost_ns_ = 0;  // by this timing alone
};

}  // namespace mlc::worker
