#include "server/search/task_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/measurement.h"

namespace mlc::server {
namespace {

constexpr size_t kSample = 1200;  // candidates of a family to start with
constexpr size_t kDraws = 12000;  // tries for them
constexpr int kPriorRounds = 4;   // of growth before the first trial
// With a prior, seeds predicted this much slower than the best predicted one (log) are left out.
constexpr double kPoorSeed = 0.1;
constexpr double kImprovement = 0.995;  // an improvement that counts
// A failed trial counts as a sample this many times slower than expected.
constexpr double kFailureFactor = 4;
constexpr double kFailureWeight = 0.3;
constexpr double kSlowWeight = 0.4;

}  // namespace

TaskSearch::TaskSearch(std::unique_ptr<CandidateSource> source, SharedModels& models, Rng rng)
    : pool_(std::move(source)),
      models_(models),
      rng_(rng),
      offset_(pool_.source().families(), 0.0),
      versions_(pool_.source().families(), -1) {
  for (const PointRef& point : pool_.source().Defaults()) {
    const int candidate = pool_.Add(point.family, point.point);
    if (candidate == Pool::kIllegal) continue;
    if (default_ < 0) default_ = candidate;
    seeds_.push_back({candidate, "default"});
  }
  tried_.resize(static_cast<size_t>(pool_.size()), 0);
}

void TaskSearch::AddKnown(const PointRef& point, Ending ending, double ns, bool confirmed) {
  const int candidate = pool_.Add(point.family, point.point);
  if (candidate == Pool::kIllegal || ending == Ending::kNotMade) return;
  tried_.resize(static_cast<size_t>(pool_.size()), 0);
  ++known_;
  if (ending == Ending::kTimed) {
    timed_[candidate].Add(ns, confirmed);
    FindBest();
    if (candidate == default_ && default_ns_ == 0) default_ns_ = ns;
    return;
  }
  tried_[static_cast<size_t>(candidate)] = 1;
}

void TaskSearch::AddPriorConfig(const PointRef& point, const char* arm, double expected_ns) {
  const int candidate = pool_.Repair(point);
  if (candidate == Pool::kIllegal) return;
  tried_.resize(static_cast<size_t>(pool_.size()), 0);
  if (prior_config_ < 0) {
    prior_config_ = candidate;
    expected_ns_ = expected_ns;
  }
  prior_configs_.push_back({candidate, arm});
}

double TaskSearch::estimate_ns() const {
  if (expected_ns_ > 0 || prior_config_ < 0) return expected_ns_;
  return std::exp(Score(prior_config_));
}

void TaskSearch::Start() {
  if (pool_.source().families() == 0) {
    done_ = true;
    return;
  }
  pool_.Sample(kSample, kDraws, rng_);
  tried_.resize(static_cast<size_t>(pool_.size()), 0);
  Predict();
  // With knowledge of earlier jobs the sample moves towards what they would choose.
  const bool informed = ModelOf(0).has_prior();
  for (int round = 0; informed && round < kPriorRounds; ++round) {
    grown_at_ = 0;
    Grow();
    Predict();
  }
  // What is known is tried again only if it is among the best; the rest only trains the models.
  const std::vector<int> best = Incumbents(3);
  for (const auto& [candidate, timed] : timed_) tried_[static_cast<size_t>(candidate)] = 1;
  std::deque<Seed> seeds;
  for (int candidate : best) {
    tried_[static_cast<size_t>(candidate)] = 0;
    seeds.push_back({candidate, "transfer"});
  }
  OrderSeeds(informed, seeds);
  done_ = pool_.size() == 0;
}

// The best prior config first; then by the models if they are trained, else prior configs as they
// came and the defaults of other families. A default that the models predict slow waits for
// NextDefault.
void TaskSearch::OrderSeeds(bool informed, std::deque<Seed>& seeds) {
  if (prior_config_ < 0) prior_config_ = default_;
  std::vector<Seed> rest = informed ? std::vector<Seed>() : prior_configs_;
  std::vector<Seed> scored(seeds_.begin(), seeds_.end());
  if (informed) scored.insert(scored.begin(), prior_configs_.begin(), prior_configs_.end());
  std::stable_sort(scored.begin(), scored.end(), [&](const Seed& a, const Seed& b) {
    return Score(a.candidate) < Score(b.candidate);
  });
  rest.insert(rest.end(), scored.begin(), scored.end());
  std::stable_partition(rest.begin(), rest.end(),
                        [&](const Seed& seed) { return seed.candidate == prior_config_; });
  double bar = std::numeric_limits<double>::infinity();
  for (int i = 0; informed && i < pool_.size(); ++i) bar = std::min(bar, Score(i) + kPoorSeed);
  for (const Seed& seed : rest) {
    const bool is_wanted = seed.candidate == prior_config_ || Score(seed.candidate) < bar;
    if (is_wanted && timed_.count(seed.candidate) == 0) seeds.push_back(seed);
  }
  seeds_ = std::move(seeds);
}

SharedModel& TaskSearch::ModelOf(size_t family) const {
  const std::string_view name = pool_.source().family_name(family);
  const auto found = models_.find(name);
  if (found != models_.end()) return found->second;
  return models_.emplace(std::string(name), SharedModel(pool_.source().columns())).first->second;
}

// Only what is new is asked: candidates, and the families whose models have changed. Runs of
// candidates of one family are predicted together.
void TaskSearch::Predict() {
  const auto known = static_cast<int>(online_.size());
  std::vector<char> changed(versions_.size());
  bool any = false;
  for (size_t f = 0; f < versions_.size(); ++f) {
    const int64_t version = ModelOf(f).version();
    changed[f] = version != versions_[f];
    versions_[f] = version;
    any = any || changed[f];
  }
  const auto size = static_cast<size_t>(pool_.size());
  prior_.resize(size, 0);
  online_.resize(size, 0);
  tried_.resize(size, 0);
  for (int begin = any ? 0 : known; begin < pool_.size();) {
    const size_t family = pool_.family(begin);
    int end = begin + 1;
    while (end < pool_.size() && end != known && pool_.family(end) == family) ++end;
    if (begin >= known || changed[family]) PredictRun(begin, end, known);
    begin = end;
  }
  FitOffsets();
}

void TaskSearch::PredictRun(int begin, int end, int known) {
  const auto from = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
  std::vector<float> rows(count * pool_.source().columns());
  pool_.ReadFeatures(begin, rows);
  const SharedModel& model = ModelOf(pool_.family(begin));
  const std::span<float> prior = std::span(prior_).subspan(from, count);
  const std::span<float> both = std::span(online_).subspan(from, count);
  // The prior does not change: it is asked once for each candidate.
  if (begin >= known) model.AddPrior(rows, prior);
  std::copy(prior.begin(), prior.end(), both.begin());
  model.AddOnline(rows, both);
}

void TaskSearch::FitOffsets() {
  std::vector<double> sum(offset_.size(), 0.0), count(offset_.size(), 0.0);
  for (const auto& [candidate, timed] : timed_) {
    const size_t family = pool_.family(candidate);
    sum[family] += std::log(timed.single()) - pool_.log_estimate(candidate) -
                   static_cast<double>(online_[static_cast<size_t>(candidate)]);
    ++count[family];
  }
  for (size_t f = 0; f < offset_.size(); ++f) offset_[f] = sum[f] / (count[f] + 1);
}

void TaskSearch::Learn(const Pick& pick, Ending ending, double ns) {
  pending_.erase(pick.candidate);
  confirming_ -= pick.repeat > 0 ? 1 : 0;
  if (ending == Ending::kNotMade) return;
  ++trials_;
  ++stale_;
  switch (ending) {
    case Ending::kTimed: {
      timed_[pick.candidate].Add(ns, pick.repeat > 0);
      if (pick.candidate == default_ && default_ns_ == 0) default_ns_ = ns;
      const double before = best_ns_;
      FindBest();
      if (before == 0 || best_ns_ < before * kImprovement) stale_ = 0;
      if (pick.repeat == 0) AddSample(pick.candidate, ns, best_ns_ / ns);
      break;
    }
    case Ending::kTooSlow:
      AddSample(pick.candidate, std::max(ns, kEarlyStopFactor * best_ns_), kSlowWeight);
      break;
    default: {
      // A candidate that fails even once is not a best one.
      if (timed_.erase(pick.candidate) > 0) FindBest();
      const double expected = std::exp(Score(pick.candidate));
      AddSample(pick.candidate, kFailureFactor * expected, kFailureWeight);
    }
  }
}

void TaskSearch::AddSample(int candidate, double ns, double weight) {
  std::vector<float> row(pool_.source().columns());
  pool_.ReadFeatures(candidate, row);
  ModelOf(pool_.family(candidate)).Add(row, std::log(ns) - pool_.log_estimate(candidate), weight);
}

void TaskSearch::Fill(Pick& pick, int candidate, const char* arm) {
  pick.candidate = candidate;
  pick.arm = arm;
  pick.early_stop_ns = best_ns_ * kEarlyStopFactor;
  const double score = Score(candidate);
  if (ModelOf(pool_.family(candidate)).trained()) {
    pick.predicted_ns = std::exp(score);
    pick.rank = 1;
    for (int i = 0; i < pool_.size(); ++i) pick.rank += Free(i) && Score(i) < score;
  }
  tried_[static_cast<size_t>(candidate)] = 1;
  pending_.insert(candidate);
}

}  // namespace mlc::server
