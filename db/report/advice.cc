#include "db/report/advice.h"

#include <algorithm>

namespace mlc::report {
namespace {

constexpr double kGain = 0.99;         // of the best time so far: what counts as a gain
constexpr double kSmallShare = 0.01;   // of the model's time
constexpr double kNearPeak = 1.15;     // times the roofline
constexpr int64_t kFewTrials = 16;     // one batch of the search
constexpr int64_t kEnoughTrials = 32;  // before a search can be called settled

int64_t LastGain(const TaskData& task) {
  int64_t trial = 0, last = 0;
  double best = 0;
  for (const db::Record& record : task.records) {
    ++trial;
    const double ns = record.measurement.median_ns;
    if (record.measurement.outcome != Outcome::kOk || db::IsConfirmation(record)) continue;
    if (best > 0 && ns > best * kGain) continue;
    best = ns;
    last = trial;
  }
  return last;
}

std::string VerdictOf(const TuningData& data, const TaskData& task, const Advice& advice) {
  if (!task.chosen) {
    return task.records.empty() ? "Not tried yet." : "No correct kernel yet: see its failures.";
  }
  const double share = data.ShareAfter(task);
  if (data.best_ns() > 0 && share < kSmallShare) {
    return "Too small a share of the time to matter.";
  }
  if (task.roofline_ns > 0 && task.BestNs() < kNearPeak * task.roofline_ns) {
    return "Near the peak of the device: hardly anything to gain.";
  }
  if (advice.trials < kFewTrials) return "Hardly searched: give it more trials.";
  if (4 * advice.last_gain > 3 * advice.trials) return "Still improving: give it more trials.";
  if (advice.trials >= kEnoughTrials && 2 * advice.last_gain <= advice.trials) {
    return "Settled: the last " + std::to_string(advice.trials - advice.last_gain) +
           " trials found nothing better.";
  }
  return "May improve a little with more trials.";
}

}  // namespace

Advice AdviceOf(const TuningData& data, const TaskData& task) {
  Advice advice;
  advice.trials = static_cast<int64_t>(task.records.size());
  advice.last_gain = LastGain(task);
  const double best = task.BestNs();
  if (best > 0) {
    const double above = std::max(0.0, best - task.roofline_ns);
    advice.headroom = data.ShareAfter(task) * above / best;
  }
  advice.verdict = VerdictOf(data, task, advice);
  return advice;
}

}  // namespace mlc::report
