// Attributes the time of one target's devices to trials. A trial costs the time for which it had a
// device, plus its share of the time for which devices waited while there were trials for them: the
// waiting time since the last result is divided equally among the next results. A value; the caller
// passes the time.
#pragma once

#include <chrono>
#include <utility>

namespace mlc::worker {

class DeviceTime {
 public:
  using Clock = std::chrono::steady_clock;

  explicit DeviceTime(int devices) : devices_(devices) {}

  int devices() const { return devices_; }
  // Records the state from now until the next call: the number of trials, and of devices with a
  // trial.
  void Note(int trials, int busy, Clock::time_point now);
  // Adds the time of a device that returned no result.
  void AddUnattributed(double seconds) { waited_s_ += seconds; }
  // Takes the seconds that no trial was charged for; the caller divides them among the next
  // results.
  double TakeUnattributed() { return std::exchange(waited_s_, 0); }

 private:
  int devices_;
  int waiting_ = 0;  // devices that wait, since `since_`
  Clock::time_point since_;
  double waited_s_ = 0;
};

}  // namespace mlc::worker
