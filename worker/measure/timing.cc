#include "worker/measure/timing.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/quantile.h"
#include "base/steady_time.h"
#include "worker/measure/samples.h"

namespace mlc::worker {
namespace {

constexpr int kEarlyStopRuns = 3;
constexpr int kEarlyStopAttempts = 3;

double ColdTime(const std::function<void()>& run, const std::function<void()>& evict,
                const TimingOptions& options, const Stopwatch& watch, QuietMachineGate& gate) {
  std::vector<double> quiet;
  std::vector<double> all;
  for (int i = 0; i < 2 * options.cold_samples; ++i) {
    const double before = gate.WaitUntilQuiet();
    evict();
    all.push_back(TimeRuns(run, 1, watch));
    if (QuietMachineGate::IsQuiet(std::min(before, gate.Probe()))) quiet.push_back(all.back());
    if (static_cast<int>(quiet.size()) == options.cold_samples) break;
  }
  std::vector<double>& kept = quiet.empty() ? all : quiet;
  std::sort(kept.begin(), kept.end());
  return Quantile(kept, 0.5);
}

// The shortest of a few executions; short kernels go on until they are warm.
double ShortestWarm(const std::function<void()>& run, const TimingOptions& options,
                    const Stopwatch& watch) {
  double shortest = TimeRuns(run, 1, watch);
  double warmed = shortest;
  for (int i = 1; i < kEarlyStopRuns || warmed < options.warm_ns; ++i) {
    const double taken = TimeRuns(run, 1, watch);
    shortest = std::min(shortest, taken);
    warmed += std::max(taken, 1.0);
  }
  return std::max(shortest, 1.0);
}

}  // namespace

Measurement MeasurementOf(const Timing& timing, double error) {
  Measurement m;
  m.outcome = timing.stopped_early ? Outcome::kTooSlow : Outcome::kOk;
  m.median_ns = timing.median_ns;
  m.p10_ns = timing.p10_ns;
  m.p90_ns = timing.p90_ns;
  m.runs = timing.samples;
  m.cold_ns = timing.cold_ns;
  m.max_error = error;
  m.machine_speed = timing.machine_speed;
  return m;
}

Stopwatch SystemStopwatch() {
  Stopwatch watch;
  watch.now_ns = NowNs;
  watch.preemptions = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_nivcsw};
  };
  return watch;
}

Timing TimeKernel(const std::function<void()>& run, const std::function<void()>& evict,
                  const TimingOptions& options, const Stopwatch& watch, QuietMachineGate& gate) {
  Timing timing;
  const double limit = options.early_stop_ns > 0 ? options.early_stop_ns * options.early_stop_margin
                                                 : std::numeric_limits<double>::infinity();
  double shortest = 0;
  // An early-stop check that failed on a disturbed machine is run again.
  for (int attempt = 0; attempt < kEarlyStopAttempts; ++attempt) {
    timing.machine_speed = gate.WaitUntilQuiet();
    const int64_t start = watch.now_ns();
    shortest = ShortestWarm(run, options, watch);
    if (shortest <= limit) break;
    timing.machine_speed = std::min(timing.machine_speed, gate.Probe());
    const int64_t taken = watch.now_ns() - start;
    if (QuietMachineGate::IsQuiet(timing.machine_speed) || !gate.CanAfford(taken)) break;
    gate.AddLost(taken);
  }
  if (shortest > limit) {
    timing.stopped_early = true;
    timing.samples = kEarlyStopRuns;
    timing.median_ns = timing.p10_ns = timing.p90_ns = shortest;
    return timing;
  }
  const Samples samples = TakeSamples(run, shortest, options, watch, gate);
  timing.samples = static_cast<int>(samples.sorted.size());
  timing.median_ns = Quantile(samples.sorted, 0.5);
  timing.p10_ns = Quantile(samples.sorted, 0.1);
  timing.p90_ns = Quantile(samples.sorted, 0.9);
  timing.machine_speed = samples.machine_speed;
  const bool contender = options.early_stop_ns <= 0 ||
                         timing.median_ns <= options.early_stop_ns * options.contender_margin;
  if (evict && contender) timing.cold_ns = ColdTime(run, evict, options, watch, gate);
  return timing;
}

}  // namespace mlc::worker
