#include "worker/device/cuda/gpu_timing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/quantile.h"

namespace mlc::worker {
namespace {

constexpr int kEarlyStopRuns = 3;
constexpr int kUntimed = -1;
// More samples are taken in so many parts of the first ones.
constexpr int kPortions = 4;
// Beyond this share of lost records the rest says too little.
constexpr double kMaxLost = 0.5;

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
    if (static_cast<double>(times.size()) < kMaxLost * samples) {
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
Result<double> ShortestRun(const GpuStage& stage) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Pass pass(stage);
    MLC_TRY(pass.Execute(kUntimed));
    for (int i = 0; i < kEarlyStopRuns; ++i) {
      pass.RestartCopies();
      MLC_TRY(pass.Execute(i));
    }
    if (const auto times = MLC_TRY(pass.Take(kEarlyStopRuns))) {
      return *std::min_element(times->begin(), times->end());
    }
  }
  return LostRecords();
}

// The samples of one kernel as they come: the cache is emptied, one execution brings the
// activations back, then come the timed ones, each with weights that were not read since.
class Sampler {
 public:
  Sampler(const GpuStage& stage, double estimate, const GpuTimingOptions& options) : stage_(stage) {
    executions_ = static_cast<int>(std::clamp(std::ceil(options.sample_ns / estimate), 1.0,
                                              static_cast<double>(options.most_executions)));
    const int least = estimate > options.budget_ns ? 3 : options.min_samples;
    samples_ =
        static_cast<int>(std::clamp(options.budget_ns / (estimate * (executions_ + 1)),
                                    static_cast<double>(least), double(options.max_samples)));
  }
  int samples() const { return samples_; }

  Status Sample(int count) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      Pass pass(stage_);
      for (int s = 0; s < count; ++s) {
        pass.RestartCopies();
        MLC_TRY(pass.Evict());
        MLC_TRY(pass.Execute(kUntimed));
        for (int i = 0; i < executions_; ++i) MLC_TRY(pass.Execute(s));
      }
      const auto times = MLC_TRY(pass.Take(count));
      if (!times) continue;
      times_.insert(times_.end(), times->begin(), times->end());
      return Status();
    }
    return LostRecords();
  }

  Timing Summary() {
    std::sort(times_.begin(), times_.end());
    Timing timing;
    timing.samples = static_cast<int>(times_.size());
    timing.median_ns = Quantile(times_, 0.5);
    timing.p10_ns = Quantile(times_, 0.1);
    timing.p90_ns = Quantile(times_, 0.9);
    return timing;
  }

 private:
  const GpuStage& stage_;
  int executions_ = 1;
  int samples_ = 1;
  std::vector<double> times_;
};

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

// Whether there is time for more samples.
bool MoreRequested(const GpuTimingOptions& options) { return options.more && options.more(); }

Timing StoppedEarly(double shortest) {
  Timing timing;
  timing.stopped_early = true;
  timing.samples = kEarlyStopRuns;
  timing.median_ns = timing.p10_ns = timing.p90_ns = shortest;
  return timing;
}

}  // namespace

Result<Timing> TimeOnGpu(const GpuStage& stage, const GpuTimingOptions& options) {
  // What ran before is no part of the protocol.
  (void)MLC_TRY(stage.take());
  const double shortest = std::max(1.0, MLC_TRY(ShortestRun(stage)));
  const bool may_stop = options.early_stop_ns > 0;
  if (may_stop && shortest > options.early_stop_ns * options.early_stop_margin)
    return StoppedEarly(shortest);
  Sampler sampler(stage, shortest, options);
  MLC_TRY(sampler.Sample(sampler.samples()));
  Timing timing = sampler.Summary();
  const bool contender =
      !may_stop || timing.median_ns <= options.early_stop_ns * options.contender_margin;
  if (!contender) return timing;
  const double cold_ns = MLC_TRY(ColdMedian(stage, options.cold_samples));
  const int portion = std::max(1, sampler.samples() / kPortions);
  for (int left = sampler.samples() * options.most_more; left > 0 && MoreRequested(options);
       left -= portion) {
    MLC_TRY(sampler.Sample(portion));
  }
  timing = sampler.Summary();
  timing.cold_ns = cold_ns;
  return timing;
}

Result<std::vector<Timing>> TimeInTurns(std::span<const GpuStage> stages,
                                        const GpuTimingOptions& options) {
  std::vector<Sampler> samplers;
  for (const GpuStage& stage : stages) {
    (void)MLC_TRY(stage.take());
    samplers.emplace_back(stage, std::max(1.0, MLC_TRY(ShortestRun(stage))), options);
  }
  // Each round begins with another kernel.
  const auto take_round = [&](int round) -> Status {
    for (size_t i = 0; i < samplers.size(); ++i) {
      Sampler& sampler = samplers[(i + static_cast<size_t>(round)) % samplers.size()];
      MLC_TRY(sampler.Sample(std::max(1, sampler.samples() / 2)));
    }
    return Status();
  };
  for (int round = 0; round < options.rounds; ++round) MLC_TRY(take_round(round));
  std::vector<double> cold_ns;
  for (const GpuStage& stage : stages) {
    cold_ns.push_back(MLC_TRY(ColdMedian(stage, options.cold_samples)));
  }
  const int most = options.rounds * (1 + options.most_more);
  for (int round = options.rounds; round < most && MoreRequested(options); ++round) {
    MLC_TRY(take_round(round));
  }
  std::vector<Timing> timings;
  for (size_t i = 0; i < stages.size(); ++i) {
    timings.push_back(samplers[i].Summary());
    timings.back().cold_ns = cold_ns[i];
  }
  return timings;
}

}  // namespace mlc::worker
