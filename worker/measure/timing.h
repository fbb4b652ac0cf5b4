// The timing protocol of one kernel: warm-up, early-stop check, then the median of uninterrupted
// samples, with warm and with evicted caches. Samples are taken in slices, with a probe of the
// machine between slices. If there are quiet slices that agree, only those count. Clock and kernel
// are parameters, so that tests control them. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/measurement.h"
#include "worker/measure/quiet_machine_gate.h"

namespace mlc::worker {

// The clock and context switches of the process; tests replace them.
struct Stopwatch {
  std::function<int64_t()> now_ns;
  // Involuntary context switches of this process so far.
  std::function<int64_t()> preemptions;
};
Stopwatch SystemStopwatch();

struct TimingOptions {
  double early_stop_ns = 0;        // 0 = never
  double early_stop_margin = 1.3;  // slower than early_stop_ns by more than this ends the trial
  double contender_margin = 1.1;   // cold runs only for kernels within this of early_stop_ns
  double sample_ns = 20e3;         // least duration of a sample
  double warm_ns = 500e3;          // warm-up of short kernels
  double slice_ns = 1.5e6;         // time between two probes of the machine
  double slices_agree = 1.1;       // slices slower than the fastest by more than this do not count
  double budget_ns = 20e6;         // total time of all samples
  int min_samples = 7;
  int max_samples = 30;
  int cold_samples = 3;
};

struct Timing {
  bool stopped_early = false;
  double median_ns = 0;  // if stopped early: the shortest execution
  double p10_ns = 0;
  double p90_ns = 0;
  int samples = 0;
  double cold_ns = 0;
  double machine_speed = 1;  // the lowest among the samples
};

// The measurement of a correct trial; `error` is the largest deviation from the reference. The
// caller sets clock and detail.
Measurement MeasurementOf(const Timing& timing, double error);

// `evict` empties the caches near the cores; null: no samples with cold caches.
Timing TimeKernel(const std::function<void()>& run, const std::function<void()>& evict,
                  const TimingOptions& options, const Stopwatch& watch, QuietMachineGate& gate);

}  // namespace mlc::worker
