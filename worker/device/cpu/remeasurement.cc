#include "worker/device/cpu/remeasurement.h"

#include <algorithm>

#include "worker/measure/quiet_machine_gate.h"

namespace mlc::worker {
namespace {

double Mean(double a, double b) { return (a + b) / 2; }

}  // namespace

bool NeedsRemeasurement(const Measurement& first, double early_stop_ns) {
  if (first.outcome != Outcome::kOk) return false;
  if (early_stop_ns <= 0) return true;
  // A disturbed trial may lead on a quiet machine.
  return first.median_ns < (QuietMachineGate::IsQuiet(first.machine_speed)
                                ? early_stop_ns / kEarlyStopFactor
                                : early_stop_ns);
}

Measurement CombineMeasurements(const Measurement& first, const Measurement& second) {
  if (second.outcome == Outcome::kInfra) return first;
  if (second.outcome != Outcome::kOk) return second;
  const bool first_quiet = QuietMachineGate::IsQuiet(first.machine_speed);
  const bool second_quiet = QuietMachineGate::IsQuiet(second.machine_speed);
  if (first_quiet != second_quiet) return first_quiet ? first : second;
  Measurement both = second;
  both.median_ns = Mean(first.median_ns, second.median_ns);
  both.p10_ns = Mean(first.p10_ns, second.p10_ns);
  both.p90_ns = Mean(first.p90_ns, second.p90_ns);
  both.runs = first.runs + second.runs;
  // Not every measurement has runs with cold caches.
  const bool both_cold = first.cold_ns > 0 && second.cold_ns > 0;
  both.cold_ns =
      both_cold ? Mean(first.cold_ns, second.cold_ns) : std::max(first.cold_ns, second.cold_ns);
  both.max_error = std::max(first.max_error, second.max_error);
  both.machine_speed = std::min(first.machine_speed, second.machine_speed);
  return both;
}

}  // namespace mlc::worker
