// Which candidate of a task comes next: the arms of TaskSearch.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "server/search/task_search.h"

namespace mlc::server {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();
// Log time added for each untimed candidate nearby: similar candidates add little information.
constexpr double kCrowding = 0.03;
constexpr int kShortList = 24;
// Results without an improvement after which the search descends, explores again, and ends.
constexpr int64_t kDescendAfter = 10;
constexpr int64_t kExploreAfter = 30;
constexpr int64_t kStaleEnd = 120;
// Moves predicted this much slower than the incumbent (log) are not worth a trial.
constexpr double kMostPredictedLoss = 0.10;
constexpr int kMaxPool = 6000;
constexpr int kMutants = 160;

// The usual course of a search, from experience: the gain of a trial falls with their number, and
// the faster the longer nothing was found.
double UsualGain(double tries, double stale) { return 0.25 / (1 + tries) * std::pow(0.96, stale); }

enum class Arm : uint8_t { kModel, kPrior, kNeighbour, kRandom };

constexpr std::array kPortfolio = {Arm::kModel, Arm::kPrior,     Arm::kModel, Arm::kNeighbour,
                                   Arm::kPrior, Arm::kNeighbour, Arm::kModel, Arm::kRandom};
constexpr std::array kDescent = {Arm::kNeighbour, Arm::kModel,     Arm::kNeighbour,
                                 Arm::kNeighbour, Arm::kNeighbour, Arm::kRandom};

}  // namespace

double TaskSearch::Score(int candidate) const {
  return pool_.log_estimate(candidate) +
         static_cast<double>(online_[static_cast<size_t>(candidate)]) +
         offset_[pool_.family(candidate)];
}

double TaskSearch::PriorScore(int candidate) const {
  return pool_.log_estimate(candidate) +
         static_cast<double>(prior_[static_cast<size_t>(candidate)]) +
         offset_[pool_.family(candidate)];
}

std::vector<int> TaskSearch::Incumbents(size_t count) const {
  std::vector<std::pair<double, int>> order;
  for (const auto& [candidate, timed] : timed_)
    order.emplace_back(db::Weighed(timed.means, unconfirmed_factor_), candidate);
  std::sort(order.begin(), order.end());
  std::vector<int> best;
  for (const auto& [ns, candidate] : order) {
    if (best.size() < count) best.push_back(candidate);
  }
  return best;
}

// Candidates like the best ones, measured and predicted.
void TaskSearch::Grow() {
  if (trials_ < grown_at_ || pool_.size() >= kMaxPool) return;
  grown_at_ = trials_ + 3;
  std::vector<int> parents = Incumbents(4);
  std::vector<std::pair<double, int>> scores;
  for (int i = 0; i < pool_.size(); ++i) scores.emplace_back(Score(i), i);
  const size_t keep = std::min<size_t>(12, scores.size());
  std::partial_sort(scores.begin(), scores.begin() + static_cast<int64_t>(keep), scores.end());
  for (size_t i = 0; i < keep; ++i) parents.push_back(scores[i].second);
  if (parents.empty()) return;
  for (int i = 0; i < kMutants; ++i) {
    pool_.Mutate(parents[static_cast<size_t>(i) % parents.size()], rng_);
  }
}

// The best score among free candidates, those like what is under way set back.
int TaskSearch::BestPredicted(bool prior_alone) {
  std::vector<std::pair<double, int>> order;
  for (int i = 0; i < pool_.size(); ++i) {
    if (Free(i)) order.emplace_back(prior_alone ? PriorScore(i) : Score(i), i);
  }
  const auto keep = static_cast<int64_t>(std::min<size_t>(kShortList, order.size()));
  std::partial_sort(order.begin(), order.begin() + keep, order.end());
  int best = Pool::kIllegal;
  double best_score = kWorst;
  for (int64_t i = 0; i < keep; ++i) {
    double score = order[static_cast<size_t>(i)].first;
    for (int other : pending_) {
      if (pool_.Difference(order[static_cast<size_t>(i)].second, other) <= 1) score += kCrowding;
    }
    if (score < best_score) {
      best_score = score;
      best = order[static_cast<size_t>(i)].second;
    }
  }
  return best;
}

int TaskSearch::BestNeighbour() {
  if (best_ < 0) return Pool::kIllegal;
  const double bar = Score(best_) + kMostPredictedLoss;
  int best = Pool::kIllegal;
  double best_score = bar;
  for (int incumbent : Incumbents(stale_ > kDescendAfter ? 2 : 3)) {
    const std::vector<int> near = pool_.Neighbours(incumbent);
    Predict();
    for (int candidate : near) {
      if (!Free(candidate) || Score(candidate) >= best_score) continue;
      best_score = Score(candidate);
      best = candidate;
    }
  }
  return best;
}

// One of the better half.
int TaskSearch::RandomOne() {
  int chosen = Pool::kIllegal;
  for (int draw = 0; draw < 8; ++draw) {
    const int candidate = static_cast<int>(rng_.Below(static_cast<uint64_t>(pool_.size())));
    if (!Free(candidate)) continue;
    if (chosen == Pool::kIllegal) {
      chosen = candidate;
    } else {
      return Score(candidate) < Score(chosen) ? candidate : chosen;
    }
  }
  return chosen;
}

int TaskSearch::Choose(const char*& arm) {
  const bool descends = stale_ >= kDescendAfter && stale_ < kExploreAfter;
  const auto choice = static_cast<size_t>(choices_++);
  const Arm wanted =
      descends ? kDescent[choice % kDescent.size()] : kPortfolio[choice % kPortfolio.size()];
  if (wanted == Arm::kNeighbour) {
    arm = descends ? "descent" : "neighbour";
    const int found = BestNeighbour();
    if (found != Pool::kIllegal) return found;
    if (stale_ >= kStaleEnd) {
      done_ = true;
      return Pool::kIllegal;
    }
  }
  if (wanted == Arm::kRandom) {
    arm = "random";
    const int found = RandomOne();
    if (found != Pool::kIllegal) return found;
  }
  const bool prior_alone = wanted == Arm::kPrior && ModelOf(0).has_prior();
  arm = prior_alone ? "transfer" : "model";
  return BestPredicted(prior_alone);
}

bool TaskSearch::Next(Pick& pick) {
  if (done_) return false;
  Predict();
  while (!seeds_.empty()) {
    const Seed seed = seeds_.front();
    seeds_.pop_front();
    if (!Free(seed.candidate)) continue;
    Fill(pick, seed.candidate, seed.arm);
    return true;
  }
  Grow();
  Predict();
  const char* arm = "";
  const int candidate = Choose(arm);
  if (candidate == Pool::kIllegal) {
    done_ = true;
    return false;
  }
  Fill(pick, candidate, arm);
  return true;
}

bool TaskSearch::NextDefault(Pick& pick) {
  if (!lacks_default()) return false;
  Predict();
  Fill(pick, default_, "default");
  // However slow it is, its time is wanted.
  pick.early_stop_ns = 0;
  return true;
}

// What was measured counts, not what the models make of it: a best one that came out much slower
// than expected, as a transferred config may, has the largest predicted gain. Models learn single
// times.
double TaskSearch::PredictedGain() const {
  if (best_ns_ == 0) return 0;
  double best_score = kWorst;
  for (int i = 0; i < pool_.size(); ++i) {
    if (Free(i)) best_score = std::min(best_score, Score(i));
  }
  // What a transferred config was expected to take is what searches come close to in the end, even
  // where that config itself is slower here.
  if (expected_ns_ > 0) best_score = std::min(best_score, std::log(expected_ns_));
  return std::clamp(std::log(timed_.at(best_).single()) - best_score, 0.0, 0.5);
}

double TaskSearch::ExpectedGain() {
  if (done_) return 0;
  // A transferred config is expected to take what is reported already: its trial gains nothing but
  // opens the way for the next two.
  if (predicted() && under_way() == 0) return (UsualGain(1, 1) + UsualGain(2, 2)) / 3;
  Predict();
  const auto stale = static_cast<double>(stale_ + under_way());
  return UsualGain(tries(), stale) + 0.3 * PredictedGain() / (1 + 0.5 * stale);
}

double TaskSearch::Headroom() {
  if (done_) return 0;
  // An estimate rules nothing out.
  if (timed_.empty() && !given_up()) return 1;
  Predict();
  const int64_t stale = stale_ + under_way();
  double headroom = PredictedGain() / (1 + 0.5 * static_cast<double>(stale));
  for (int64_t more = 0; stale + more < kStaleEnd; ++more) {
    headroom += UsualGain(tries() + static_cast<double>(more), static_cast<double>(stale + more));
  }
  return 1 - std::exp(-headroom);
}

}  // namespace mlc::server
