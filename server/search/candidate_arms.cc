#include "server/search/candidate_arms.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "server/search/expected_gain.h"

namespace mlc::server {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();
// Log time added for each untimed candidate nearby: similar candidates add little information.
constexpr double kCrowding = 0.03;
constexpr int kShortList = 24;
// Moves predicted this much slower than the incumbent (log) are not worth a trial.
constexpr double kMostPredictedLoss = 0.30;
constexpr int kMaxPool = 6000;
constexpr int kMutants = 160;
constexpr int64_t kGrowEvery = 3;  // results

enum class Arm : uint8_t { kModel, kPrior, kNeighbour, kRandom, kRestart };

constexpr std::array kPortfolio = {Arm::kModel, Arm::kPrior,     Arm::kModel, Arm::kNeighbour,
                                   Arm::kPrior, Arm::kNeighbour, Arm::kModel, Arm::kRandom};
constexpr std::array kDescent = {Arm::kNeighbour, Arm::kModel,     Arm::kNeighbour,
                                 Arm::kNeighbour, Arm::kNeighbour, Arm::kRandom};
constexpr std::array kRestarts = {Arm::kRestart, Arm::kModel, Arm::kRestart, Arm::kNeighbour,
                                  Arm::kRestart, Arm::kPrior, Arm::kRestart, Arm::kRandom};

Arm ArmOf(int64_t choice, int64_t stale, const SearchConstants& constants) {
  const auto turn = static_cast<size_t>(choice);
  if (stale < constants.descend_after) return kPortfolio[turn % kPortfolio.size()];
  if (stale < constants.restart_after) return kDescent[turn % kDescent.size()];
  return kRestarts[turn % kRestarts.size()];
}

}  // namespace

void CandidateArms::Grow(int64_t trials) {
  if (trials >= grown_at_) GrowNow(trials);
}

// Candidates like the best ones, measured and predicted.
void CandidateArms::GrowNow(int64_t trials) {
  if (pool_.size() >= kMaxPool) return;
  grown_at_ = trials + kGrowEvery;
  std::vector<int> parents = times_.Fastest(4);
  std::vector<std::pair<double, int>> scores;
  for (int i = 0; i < pool_.size(); ++i) scores.emplace_back(scores_.Score(i), i);
  const size_t keep = std::min<size_t>(12, scores.size());
  std::partial_sort(scores.begin(), scores.begin() + static_cast<int64_t>(keep), scores.end());
  for (size_t i = 0; i < keep; ++i) parents.push_back(scores[i].second);
  if (parents.empty()) return;
  for (int i = 0; i < kMutants; ++i) {
    pool_.Mutate(parents[static_cast<size_t>(i) % parents.size()], rng_);
  }
}

// The best score among free candidates, those like what is under way set back.
int CandidateArms::BestPredicted(Basis basis) {
  std::vector<std::pair<double, int>> order;
  for (int i = 0; i < pool_.size(); ++i) {
    if (tried_.Free(i)) order.emplace_back(scores_.Score(i, basis), i);
  }
  const auto keep = static_cast<int64_t>(std::min<size_t>(kShortList, order.size()));
  std::partial_sort(order.begin(), order.begin() + keep, order.end());
  int best = Pool::kIllegal;
  double best_score = kWorst;
  for (int64_t i = 0; i < keep; ++i) {
    double score = order[static_cast<size_t>(i)].first;
    for (int other : tried_.under_way()) {
      if (pool_.Difference(order[static_cast<size_t>(i)].second, other) <= 1) score += kCrowding;
    }
    if (score < best_score) {
      best_score = score;
      best = order[static_cast<size_t>(i)].second;
    }
  }
  return best;
}

int CandidateArms::BestNeighbour(int64_t stale, Basis basis) {
  if (times_.best() < 0) return Pool::kIllegal;
  int best = Pool::kIllegal;
  double best_score = scores_.Score(times_.best(), basis) + kMostPredictedLoss;
  for (int incumbent : times_.Fastest(stale > constants_.descend_after ? 2 : 3)) {
    const std::vector<int> near = pool_.Neighbours(
        incumbent, stale < constants_.descend_after ? 1 : constants_.descent_reach);
    scores_.Update(times_);
    for (int candidate : near) {
      if (!tried_.Free(candidate) || scores_.Score(candidate, basis) >= best_score) continue;
      best_score = scores_.Score(candidate, basis);
      best = candidate;
    }
  }
  return best;
}

// One of the better half.
int CandidateArms::RandomOne() {
  int chosen = Pool::kIllegal;
  for (int draw = 0; draw < 8; ++draw) {
    const int candidate = pool_.Draw(rng_);
    if (!tried_.Free(candidate)) continue;
    if (chosen == Pool::kIllegal) {
      chosen = candidate;
    } else {
      return scores_.Score(candidate) < scores_.Score(chosen) ? candidate : chosen;
    }
  }
  return chosen;
}

CandidateArms::Basis CandidateArms::BasisOf(bool prior, int64_t stale) const {
  if (stale >= constants_.mistrust_after && choices_ % 2 == 0) return Basis::kOwn;
  return prior && stale < constants_.restart_after ? Basis::kPrior : Basis::kBoth;
}

int CandidateArms::Choose(int64_t stale, const char*& arm) {
  const Arm wanted = ArmOf(choices_++, stale, constants_);
  const Basis basis = BasisOf(wanted == Arm::kPrior && scores_.has_prior(), stale);
  if (wanted == Arm::kRestart) {
    arm = "restart";
    const int found = restart_.Next();
    if (found != Pool::kIllegal) return found;
  }
  if (wanted == Arm::kNeighbour) {
    arm = stale >= constants_.descend_after ? "descent" : "neighbour";
    const int found = BestNeighbour(stale, basis);
    if (found != Pool::kIllegal) return found;
    if (stale >= kStaleEnd) return Pool::kIllegal;
  }
  if (wanted == Arm::kRandom) {
    arm = "random";
    const int found = RandomOne();
    if (found != Pool::kIllegal) return found;
  }
  arm = basis == Basis::kPrior ? "transfer" : "model";
  return BestPredicted(basis);
}

}  // namespace mlc::server
