// Waiting for a machine that is not ours alone. Two virtual processors may share one core of the
// host for a while, and a kernel then takes twice its time; nothing in the guest tells but how fast
// multiply-adds are just now. So that is asked again and again during a timing: the timing waits
// for a calm machine and repeats what was disturbed, for a bounded part of the time. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace mlc::worker {

// The world outside of the timing.
struct MachineWatch {
  // How close the machine's speed is now to what timings are to meet: the best that was seen or,
  // on a shared machine, the usual (reference_speed.h). In (0, 1].
  std::function<double()> calm;
  std::function<void(int64_t)> pass;  // lets nanoseconds pass
};

// What all timings of a runner and of those before it may lose by waiting and by repetitions:
// three times what they took otherwise.
struct Patience {
  int64_t timed_ns = 0;
  int64_t lost_ns = 0;
};

// Of one timing.
class CalmGate {
 public:
  // `patience` is borrowed.
  CalmGate(MachineWatch watch, Patience& patience)
      : watch_(std::move(watch)), patience_(patience) {}

  // Whether timings count that were taken so close to that speed.
  static bool IsCalm(double calm);
  // Whether so much more time may be lost.
  bool MayLose(int64_t ns) const;
  // How calm the machine is when the wait for it ends.
  double Await();
  // How calm it is now, without waiting.
  double Look() const { return watch_.calm(); }
  // Tells the time of a timing, or of a part that has to be repeated.
  void Timed(int64_t ns) { patience_.timed_ns += ns; }
  void Lost(int64_t ns) {
    patience_.lost_ns += ns;
    lost_ns_ += ns;
  }

 private:
  MachineWatch watch_;
  Patience& patience_;
  int64_t lost_ns_ = 0;  // of it, by this timing
};

}  // namespace mlc::worker
