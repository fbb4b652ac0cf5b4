#include "client/progress/job_history.h"

#include <algorithm>

namespace mlc::client {
namespace {

// The speed of a search changes: its first trials are those of every task, the later ones those of
// the heaviest. The newest part of the job says best how fast the rest will be.
constexpr double kWindow = 0.4;
// How fast the largest step is forgotten, for each later one.
constexpr double kForget = 0.8;
// A job that runs has something left, also where a trial takes longer than was expected.
constexpr double kLeastLeftS = 0.5;

// Keeps every second one, the newest included. REQUIRES: an even number of values.
template <typename T>
void Halve(std::vector<T>& values) {
  for (size_t i = 0; i < values.size() / 2; ++i) values[i] = values[2 * i + 1];
  values.resize(values.size() / 2);
}

}  // namespace

void JobHistory::Add(const proto::JobProgress& progress, double model_ns) {
  const int64_t measured = std::max<int64_t>(0, progress.trials() - progress.replayed());
  const Step now = {progress.elapsed_s(), measured};
  const bool anew = now.elapsed_s < now_.elapsed_s || measured < now_.measured;
  if (anew) {
    steps_.clear();
    batch_ = 0;
    next_s_ = now.elapsed_s;
  }
  now_ = now;
  AddStep(now);
  AddLatency(now.elapsed_s, model_ns);
  const bool running = progress.state() == proto::RUNNING;
  trials_left_ = running ? std::max<int64_t>(0, progress.trials_wanted() - progress.trials()) : 0;
  budget_left_s_ = running ? progress.budget_left_s() : 0;
}

// Single results that come before the rest of their batch are no step.
void JobHistory::AddStep(const Step& now) {
  if (!steps_.empty()) {
    const auto grown = static_cast<double>(now.measured - steps_.back().measured);
    if (grown < std::max(1.0, batch_ / 2)) return;
    batch_ = std::max(grown, kForget * batch_);
  }
  if (steps_.size() == kPoints) Halve(steps_);
  steps_.push_back(now);
  const double start = (1 - kWindow) * now.elapsed_s;
  const auto first = std::find_if(steps_.begin() + 1, steps_.end(),
                                  [&](const Step& step) { return step.elapsed_s > start; });
  steps_.erase(steps_.begin(), first - 1);
}

void JobHistory::AddLatency(double elapsed_s, double model_ns) {
  if (model_ns <= 0) return;
  if (!latencies_.empty() && elapsed_s < next_s_) {
    latencies_.back() = model_ns;
    return;
  }
  if (latencies_.size() == kPoints) {
    Halve(latencies_);
    interval_s_ *= 2;
  }
  latencies_.push_back(model_ns);
  next_s_ = elapsed_s + interval_s_;
}

// The next step is due as long after the last one as its trials take; if it is late, the trials
// after it still take their time.
double JobHistory::SecondsByTrials() const {
  if (steps_.size() < 2) return 0;
  const Step& last = steps_.back();
  const double seconds = last.elapsed_s - steps_.front().elapsed_s;
  const double for_one = seconds / static_cast<double>(last.measured - steps_.front().measured);
  const auto left = static_cast<double>(trials_left_ + now_.measured - last.measured);
  const double by_last = left * for_one - (now_.elapsed_s - last.elapsed_s);
  return std::max({by_last, (left - batch_) * for_one, kLeastLeftS});
}

double JobHistory::SecondsLeft() const {
  if (trials_left_ == 0) return 0;
  const double by_trials = SecondsByTrials();
  if (budget_left_s_ <= 0) return by_trials;
  return by_trials > 0 ? std::min(by_trials, budget_left_s_) : budget_left_s_;
}

}  // namespace mlc::client
