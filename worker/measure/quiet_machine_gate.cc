#include "worker/measure/quiet_machine_gate.h"

namespace mlc::worker {
namespace {

// Below the changes of the clock itself, above half the speed.
constexpr double kQuietSpeed = 0.85;
// A disturbance lasts from some milliseconds to some seconds.
constexpr int64_t kWaitStepNs = 5'000'000;
constexpr int64_t kMaxWaitNs = 500'000'000;
// Budget before there are timings to compare with.
constexpr int64_t kCreditNs = 10'000'000'000;
constexpr int64_t kLostPerTimed = 3;
constexpr int64_t kMaxLostByOneNs = 1'500'000'000;

}  // namespace

bool QuietMachineGate::IsQuiet(double speed) { return speed >= kQuietSpeed; }

bool QuietMachineGate::CanAfford(int64_t ns) const {
  return lost_ns_ + ns <= kMaxLostByOneNs &&
         budget_.lost_ns + ns <= kLostPerTimed * budget_.timed_ns + kCreditNs;
}

double QuietMachineGate::WaitUntilQuiet() {
  double speed = watch_.machine_speed();
  for (int64_t waited = 0; !IsQuiet(speed) && waited < kMaxWaitNs; waited += kWaitStepNs) {
    if (!CanAfford(kWaitStepNs)) break;
    AddLost(kWaitStepNs);
    watch_.wait(kWaitStepNs);
    speed = watch_.machine_speed();
  }
  return speed;
}

}  // namespace mlc::worker
