// The timing protocol of one kernel: warm up, early-stop check, then the median of samples that
// nothing interrupted, warm and with caches evicted. Samples are taken in slices, between which the
// machine is asked whether it is calm: only those of calm slices that agree count, as far as there
// are any. Clock and kernel are given, so that tests own them. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/measurement.h"
#include "worker/measure/calm_gate.h"

namespace mlc::worker {

// The world outside of the kernel.
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
  double sample_ns = 20e3;         // a sample is at least this long
  double warm_ns = 500e3;          // warm-up of short kernels
  double slice_ns = 1.5e6;         // looks at the machine are this far apart
  double slices_agree = 1.1;       // slices slower than the fastest by more than this do not count
  double budget_ns = 20e6;         // of all samples together
  int min_samples = 7;
  int max_samples = 30;
  int cold_samples = 3;
};

struct Timing {
  bool stopped_early = false;
  double median_ns = 0;  // stopped early: the shortest execution seen
  double p10_ns = 0;
  double p90_ns = 0;
  int samples = 0;
  double cold_ns = 0;
  double calm = 1;  // the least among the samples
};

// A trial that was right, `error` away from the reference at most. Clock and detail are for the
// caller to fill in.
Measurement MeasurementOf(const Timing& timing, double error);

// Interpolated. REQUIRES: sorted, not empty.
double Quantile(const std::vector<double>& sorted, double q);

// `evict` empties the caches near the cores; null: no cold runs.
Timing TimeKernel(const std::function<void()>& run, const std::function<void()>& evict,
                  const TimingOptions& options, const Stopwatch& watch, CalmGate& gate);

}  // namespace mlc::worker
