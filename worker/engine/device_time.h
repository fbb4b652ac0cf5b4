// What trials cost in time of the devices of one target. A trial costs the time for which it had a
// device, and its part of the time for which devices waited while there were trials for them: what
// has passed since the last result goes to the next ones, in equal parts. Value; time comes in.
#pragma once

#include <chrono>
#include <utility>

namespace mlc::worker {

class DeviceTime {
 public:
  using Clock = std::chrono::steady_clock;

  explicit DeviceTime(int devices) : devices_(devices) {}

  int devices() const { return devices_; }
  // What holds from now until the next call: trials that are there, and devices that have one.
  void Note(int trials, int busy, Clock::time_point now);
  // Adds the time of a device that gave no result.
  void AddUnattributed(double seconds) { waited_s_ += seconds; }
  // Takes the seconds that are attributed to no trial yet; the caller divides them among the next
  // results.
  double TakeUnattributed() { return std::exchange(waited_s_, 0); }

 private:
  int devices_;
  int waiting_ = 0;  // devices, since `since_`
  Clock::time_point since_;
  double waited_s_ = 0;
};

}  // namespace mlc::worker
