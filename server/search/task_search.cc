#include "server/search/task_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/measurement.h"
#include "db/record.h"

namespace mlc::server {
namespace {

constexpr size_t kSample = 1200;        // candidates of a family to start with
constexpr int kPriorRounds = 4;         // of growth before the first trial
constexpr double kImprovement = 0.995;  // an improvement that counts
// A failed trial counts as a sample this many times slower than expected.
constexpr double kFailureFactor = 4;
constexpr double kFailureWeight = 0.3;
constexpr double kSlowWeight = 0.4;
// Rounds of confirmation: the second for those that the first one's winner lost its lead to.
constexpr int kRounds = 3;

}  // namespace

TaskSearch::TaskSearch(std::unique_ptr<CandidateSource> source, SharedModels& models,
                       const SearchConstants& constants, Rng rng)
    : sample_draws_(constants.sample_draws),
      pool_(std::move(source)),
      rng_(rng),
      scores_(pool_, models, constants),
      arms_({pool_, times_, scores_, tried_, rng_, constants}) {
  for (const PointRef& point : pool_.source().Defaults()) {
    const int candidate = pool_.Add(point.family, point.point);
    if (candidate == Pool::kIllegal) continue;
    if (default_ < 0) default_ = candidate;
    seeds_.AddDefault(candidate);
  }
}

void TaskSearch::AddKnown(const PointRef& point, Ending ending, double ns, bool confirmed) {
  const int candidate = pool_.Add(point.family, point.point);
  if (candidate == Pool::kIllegal || ending == Ending::kNotMade) return;
  ++known_;
  if (ending == Ending::kTimed) {
    times_.Add(candidate, ns, confirmed);
    if (candidate == default_ && default_ns_ == 0) default_ns_ = ns;
    return;
  }
  tried_.SetTried(candidate, true);
}

void TaskSearch::AddPriorConfig(const PointRef& point, const char* arm, double expected_ns) {
  const int candidate = pool_.Repair(point);
  if (candidate == Pool::kIllegal) return;
  if (prior_config_ < 0) {
    prior_config_ = candidate;
    expected_ns_ = expected_ns;
  }
  seeds_.AddPriorConfig(candidate, arm);
}

double TaskSearch::estimate_ns() const {
  if (expected_ns_ > 0 || prior_config_ < 0) return expected_ns_;
  return std::exp(scores_.Score(prior_config_));
}

double TaskSearch::default_ns() const {
  return times_.Has(default_) ? times_.ComparableNs(default_) : default_ns_;
}

void TaskSearch::Start(std::span<const PointRef> of_other_devices) {
  for (const PointRef& point : of_other_devices) {
    const int candidate = pool_.Repair(point);
    if (candidate != Pool::kIllegal) seeds_.AddOfOtherDevice(candidate);
  }
  if (pool_.source().families() == 0) {
    done_ = true;
    return;
  }
  pool_.Sample(kSample, sample_draws_, rng_);
  scores_.Update(times_);
  // With knowledge of earlier jobs the sample moves towards what they would choose.
  const bool informed = scores_.has_prior();
  for (int round = 0; informed && round < kPriorRounds; ++round) {
    arms_.GrowNow(trials_);
    scores_.Update(times_);
  }
  // What is known is tried again only if it is among the best; the rest only trains the models.
  const std::vector<int> best = times_.Fastest(3);
  for (const int candidate : times_.All()) tried_.SetTried(candidate, true);
  for (const int candidate : best) tried_.SetTried(candidate, false);
  // A default that the models predict slow waits for NextDefault.
  if (prior_config_ < 0) prior_config_ = default_;
  seeds_.Order(best, prior_config_, {scores_, times_, pool_.size(), informed});
  done_ = pool_.size() == 0;
}

bool TaskSearch::Next(Pick& pick) {
  if (done_) return false;
  scores_.Update(times_);
  if (const std::optional<Seed> seed = seeds_.Next(tried_)) {
    Fill(pick, seed->candidate, seed->arm);
    return true;
  }
  arms_.Grow(trials_);
  scores_.Update(times_);
  const char* arm = "";
  const int candidate = arms_.Choose(stale_, arm);
  if (candidate == Pool::kIllegal) {
    done_ = true;
    return false;
  }
  Fill(pick, candidate, arm);
  return true;
}

bool TaskSearch::NextDefault(Pick& pick) {
  if (!lacks_default()) return false;
  scores_.Update(times_);
  Fill(pick, default_, "default");
  // However slow it is, its time is wanted.
  pick.early_stop_ns = 0;
  return true;
}

std::vector<Pick> TaskSearch::NextGroup(size_t most) {
  if (groups_ >= kRounds || most < 2 || confirming_ > 0) return {};
  std::vector<int> group = times_.Unconfirmed(most);
  if (group.empty()) return {};
  if (times_.best_is_confirmed()) {
    // The winner so far: all of a round meet the same conditions.
    group.resize(std::min(group.size(), most - 1));
    group.push_back(times_.best());
  }
  if (group.size() < 2) return {};
  ++groups_;
  std::vector<Pick> picks;
  for (int candidate : group) {
    Pick& pick = picks.emplace_back();
    Fill(pick, candidate, db::kConfirmationArm);
    ++confirming_;
    pick.repeat = ++repeats_[candidate];
    pick.group = groups_;
    pick.early_stop_ns = 0;
  }
  return picks;
}

void TaskSearch::Learn(const Pick& pick, Ending ending, double ns) {
  tried_.End(pick.candidate);
  confirming_ -= pick.repeat > 0 ? 1 : 0;
  if (ending == Ending::kNotMade) return;
  ++trials_;
  ++stale_;
  switch (ending) {
    case Ending::kTimed: {
      const double before = best_ns();
      if (pick.predicted_ns > 0 && pick.repeat == 0) errors_.Add(pick.predicted_ns, ns);
      times_.Add(pick.candidate, ns, pick.repeat > 0);
      if (pick.candidate == default_ && default_ns_ == 0) default_ns_ = ns;
      if (before == 0 || best_ns() < before * kImprovement) stale_ = 0;
      if (pick.repeat == 0) scores_.Learn(pick.candidate, ns, best_ns() / ns);
      break;
    }
    case Ending::kTooSlow: {
      const double least = std::max(ns, kEarlyStopFactor * best_ns());
      if (pick.predicted_ns > 0) errors_.Add(pick.predicted_ns, least);
      scores_.Learn(pick.candidate, least, kSlowWeight);
      break;
    }
    default: {
      times_.Drop(pick.candidate);
      const double expected = std::exp(scores_.Score(pick.candidate));
      scores_.Learn(pick.candidate, kFailureFactor * expected, kFailureWeight);
    }
  }
}

void TaskSearch::Fill(Pick& pick, int candidate, const char* arm) {
  pick.candidate = candidate;
  pick.arm = arm;
  pick.early_stop_ns = best_ns() * kEarlyStopFactor;
  const double score = scores_.Score(candidate);
  if (scores_.IsTrained(candidate)) {
    pick.predicted_ns = std::exp(score);
    pick.within_factor = errors_.Factor();
    pick.rank = 1;
    for (int i = 0; i < pool_.size(); ++i) pick.rank += tried_.Free(i) && scores_.Score(i) < score;
  }
  tried_.Begin(candidate);
}

// What was measured counts, not what the models make of it: a best one that came out much slower
// than expected, as a transferred config may, has the largest predicted gain. Models learn single
// times.
TaskCourse TaskSearch::CourseNow() {
  scores_.Update(times_);
  const int64_t under_way = tried_.count_under_way();
  TaskCourse course;
  course.tries = static_cast<double>(trials_ + under_way) + 0.5 * static_cast<double>(known_);
  course.stale = stale_ + under_way;
  if (best_ns() == 0) return course;
  double best_score = std::numeric_limits<double>::infinity();
  for (int i = 0; i < pool_.size(); ++i) {
    if (tried_.Free(i)) best_score = std::min(best_score, scores_.Score(i));
  }
  // What a transferred config was expected to take is what searches come close to in the end, even
  // where that config itself is slower here.
  if (expected_ns_ > 0) best_score = std::min(best_score, std::log(expected_ns_));
  course.predicted_gain = std::clamp(std::log(times_.SingleNs(best())) - best_score, 0.0, 0.5);
  return course;
}

double TaskSearch::ExpectedGain() {
  if (done_) return 0;
  if (predicted() && tried_.under_way().empty()) return GainOfPredicted();
  return GainOfNext(CourseNow());
}

double TaskSearch::Headroom() {
  if (done_) return 0;
  // An estimate rules nothing out.
  if (times_.empty() && !given_up()) return 1;
  return GainOfAll(CourseNow());
}

}  // namespace mlc::server
