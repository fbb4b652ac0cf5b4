#include "worker/gpu/gpu_timing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace mlc::worker {
namespace {

constexpr int kRaceRuns = 3;
constexpr int kUntimed = -1;
// Beyond this share of lost records the rest says too little.
constexpr double kMostLost = 0.5;

// Enqueues executions, each under the number of its sample, and reads their times together.
class Pass {
 public:
  explicit Pass(const GpuStage& stage) : stage_(stage) {}

  Status Evict() {
    labels_.push_back(kUntimed);
    return stage_.evict();
  }
  Status Execute(int sample) {
    labels_.insert(labels_.end(), static_cast<size_t>(stage_.launches), sample);
    return stage_.execute(next_copy_++ % std::max(1, stage_.copies));
  }
  void RestartCopies() { next_copy_ = 0; }

  // The mean time of the executions of each sample 0 .. samples-1; nullopt if records are missing.
  // Samples with a lost record are left out.
  Result<std::optional<std::vector<double>>> Take(int samples) {
    const std::vector<KernelRecord> records = MLC_TRY(stage_.take());
    const std::vector<int> labels = std::exchange(labels_, {});
    if (records.size() != labels.size()) return std::optional<std::vector<double>>();
    std::vector<double> sums(static_cast<size_t>(samples));
    std::vector<int> counts(static_cast<size_t>(samples));
    std::vector<bool> lost(static_cast<size_t>(samples));
    for (size_t i = 0; i < records.size(); ++i) {
      if (labels[i] == kUntimed) continue;
      const auto sample = static_cast<size_t>(labels[i]);
      sums[sample] += records[i].ns();
      counts[sample] += 1;
      lost[sample] = lost[sample] || records[i].lost();
    }
    std::vector<double> times;
    for (size_t s = 0; s < sums.size(); ++s) {
      if (!lost[s]) times.push_back(sums[s] * stage_.launches / counts[s]);
    }
    if (static_cast<double>(times.size()) < kMostLost * samples) {
      return std::optional<std::vector<double>>();
    }
    return std::optional(std::move(times));
  }

 private:
  const GpuStage& stage_;
  std::vector<int> labels_;
  int next_copy_ = 0;
};

Status LostRecords() {
  return Unavailable("CUPTI lost the records of a kernel's executions, twice");
}

// The shortest of a few executions, after one that warms up, all with the same weights: no sample
// is shorter.
Result<double> Race(const GpuStage& stage) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Pass pass(stage);
    MLC_TRY(pass.Execute(kUntimed));
    for (int i = 0; i < kRaceRuns; ++i) {
      pass.RestartCopies();
      MLC_TRY(pass.Execute(i));
    }
    if (const auto times = MLC_TRY(pass.Take(kRaceRuns))) {
      return *std::min_element(times->begin(), times->end());
    }
  }
  return LostRecords();
}

// Every sample: cache emptied, one execution that brings the activations back, then the timed ones,
// each with weights that were not read since.
Result<std::vector<double>> ModelSamples(const GpuStage& stage, double estimate,
                                         const GpuTimingOptions& options) {
  const int executions = static_cast<int>(std::clamp(std::ceil(options.sample_ns / estimate), 1.0,
                                                     static_cast<double>(options.most_executions)));
  const int least = estimate > options.budget_ns ? 3 : options.min_samples;
  const int samples =
      static_cast<int>(std::clamp(options.budget_ns / (estimate * (executions + 1)),
                                  static_cast<double>(least), double(options.max_samples)));
  for (int attempt = 0; attempt < 2; ++attempt) {
    Pass pass(stage);
    for (int s = 0; s < samples; ++s) {
      pass.RestartCopies();
      MLC_TRY(pass.Evict());
      MLC_TRY(pass.Execute(kUntimed));
      for (int i = 0; i < executions; ++i) MLC_TRY(pass.Execute(s));
    }
    if (auto times = MLC_TRY(pass.Take(samples))) return *std::move(times);
  }
  return LostRecords();
}

Result<double> ColdMedian(const GpuStage& stage, int samples) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Pass pass(stage);
    for (int s = 0; s < samples; ++s) {
      MLC_TRY(pass.Evict());
      MLC_TRY(pass.Execute(s));
    }
    if (auto times = MLC_TRY(pass.Take(samples))) {
      std::sort(times->begin(), times->end());
      return Quantile(*times, 0.5);
    }
  }
  return LostRecords();
}

}  // namespace

Result<Timing> TimeOnGpu(const GpuStage& stage, const GpuTimingOptions& options) {
  // What ran before is no part of the protocol.
  (void)MLC_TRY(stage.take());
  Timing timing;
  const double shortest = std::max(1.0, MLC_TRY(Race(stage)));
  if (options.race_ns > 0 && shortest > options.race_ns * options.race_margin) {
    timing.raced_out = true;
    timing.samples = kRaceRuns;
    timing.median_ns = timing.p10_ns = timing.p90_ns = shortest;
    return timing;
  }
  std::vector<double> samples = MLC_TRY(ModelSamples(stage, shortest, options));
  std::sort(samples.begin(), samples.end());
  timing.samples = static_cast<int>(samples.size());
  timing.median_ns = Quantile(samples, 0.5);
  timing.p10_ns = Quantile(samples, 0.1);
  timing.p90_ns = Quantile(samples, 0.9);
  const bool contender =
      options.race_ns <= 0 || timing.median_ns <= options.race_ns * options.contender_margin;
  if (contender) timing.cold_ns = MLC_TRY(ColdMedian(stage, options.cold_samples));
  return timing;
}

}  // namespace mlc::worker
