#include "worker/timing.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace mlc::worker {
namespace {

constexpr int kRaceRuns = 3;

double TimeRuns(const std::function<void()>& run, int64_t runs, const Stopwatch& watch) {
  const int64_t start = watch.now_ns();
  for (int64_t i = 0; i < runs; ++i) run();
  return static_cast<double>(watch.now_ns() - start) / static_cast<double>(runs);
}

// Samples without an interruption; if the machine is so busy that there are too few, all of them.
std::vector<double> Samples(const std::function<void()>& run, double estimate,
                            const TimingOptions& options, const Stopwatch& watch) {
  const auto repeats = static_cast<int64_t>(std::max(1.0, std::ceil(options.sample_ns / estimate)));
  const double affordable = options.budget_ns / (static_cast<double>(repeats) * estimate);
  // Kernels of seconds are far from any contest.
  const int least = estimate > options.budget_ns * 5 ? 3 : options.min_samples;
  const int wanted = static_cast<int>(
      std::clamp(affordable, static_cast<double>(least), static_cast<double>(options.max_samples)));
  std::vector<double> calm;
  std::vector<double> all;
  while (static_cast<int>(calm.size()) < wanted && static_cast<int>(all.size()) < 2 * wanted) {
    const int64_t before = watch.preemptions();
    const double sample = TimeRuns(run, repeats, watch);
    all.push_back(sample);
    if (watch.preemptions() == before) calm.push_back(sample);
  }
  std::vector<double>& kept = static_cast<int>(calm.size()) * 2 >= wanted ? calm : all;
  std::sort(kept.begin(), kept.end());
  return kept;
}

double ColdTime(const std::function<void()>& run, const std::function<void()>& evict,
                const TimingOptions& options, const Stopwatch& watch) {
  std::vector<double> samples;
  for (int i = 0; i < options.cold_samples; ++i) {
    evict();
    samples.push_back(TimeRuns(run, 1, watch));
  }
  std::sort(samples.begin(), samples.end());
  return Quantile(samples, 0.5);
}

}  // namespace

Measurement MeasurementOf(const Timing& timing, double error) {
  Measurement m;
  m.outcome = timing.raced_out ? Outcome::kTooSlow : Outcome::kOk;
  m.median_ns = timing.median_ns;
  m.p10_ns = timing.p10_ns;
  m.p90_ns = timing.p90_ns;
  m.runs = timing.samples;
  m.cold_ns = timing.cold_ns;
  m.max_error = error;
  return m;
}

double Quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  // Unlike a weighted sum, lerp is monotonic and exact between equal samples.
  return std::lerp(sorted[below], sorted[above], part);
}

Stopwatch SystemStopwatch() {
  Stopwatch watch;
  watch.now_ns = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  watch.preemptions = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_nivcsw};
  };
  return watch;
}

Timing TimeKernel(const std::function<void()>& run, const std::function<void()>& evict,
                  const TimingOptions& options, const Stopwatch& watch) {
  Timing timing;
  double shortest = TimeRuns(run, 1, watch);
  double warmed = shortest;
  // The race is decided on the shortest of a few; short kernels go on until they are warm.
  for (int i = 1; i < kRaceRuns || warmed < options.warm_ns; ++i) {
    const double taken = TimeRuns(run, 1, watch);
    shortest = std::min(shortest, taken);
    warmed += std::max(taken, 1.0);
  }
  shortest = std::max(shortest, 1.0);
  if (options.race_ns > 0 && shortest > options.race_ns * options.race_margin) {
    timing.raced_out = true;
    timing.samples = kRaceRuns;
    timing.median_ns = timing.p10_ns = timing.p90_ns = shortest;
    return timing;
  }
  const std::vector<double> samples = Samples(run, shortest, options, watch);
  timing.samples = static_cast<int>(samples.size());
  timing.median_ns = Quantile(samples, 0.5);
  timing.p10_ns = Quantile(samples, 0.1);
  timing.p90_ns = Quantile(samples, 0.9);
  const bool contender =
      options.race_ns <= 0 || timing.median_ns <= options.race_ns * options.contender_margin;
  if (evict && contender) timing.cold_ns = ColdTime(run, evict, options, watch);
  return timing;
}

}  // namespace mlc::worker
