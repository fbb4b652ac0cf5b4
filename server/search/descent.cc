#include "server/search/descent.h"

namespace mlc::server {
namespace {

constexpr int kReach = 16;           // steps of one knob
constexpr int64_t kStuckAfter = 16;  // members without an improvement
constexpr double kImprovement = 0.995;
// A start is the one of these that the models prefer, drawn at random away from the fastest.
constexpr int kStarts = 4;
constexpr int kDraws = 60;
constexpr int kFastest = 3;
// Knobs in which it differs from each of them: one in so many.
constexpr int kFar = 3;

}  // namespace

double Descent::ScoreOf(int candidate) const {
  return parts_.scores.Score(candidate, CandidateScores::Basis::kOwn);
}

int Descent::Start() {
  const std::vector<int> fastest = parts_.times.Fastest(kFastest);
  int chosen = Pool::kIllegal;
  for (int draw = 0, starts = 0; draw < kDraws && starts < kStarts; ++draw) {
    const int candidate = parts_.pool.Draw(parts_.rng);
    if (!parts_.tried.Free(candidate)) continue;
    const auto knobs = static_cast<int>(parts_.pool.point(candidate).size());
    bool is_far = true;
    for (const int other : fastest) {
      is_far = is_far && kFar * parts_.pool.Difference(candidate, other) >= knobs;
    }
    if (!is_far) continue;
    ++starts;
    if (chosen == Pool::kIllegal || ScoreOf(candidate) < ScoreOf(chosen)) chosen = candidate;
  }
  return chosen;
}

int Descent::BestNeighbour(int centre) {
  const std::vector<int> near = parts_.pool.Neighbours(centre, kReach);
  parts_.scores.Update(parts_.times);
  int best = Pool::kIllegal;
  for (const int candidate : near) {
    if (!parts_.tried.Free(candidate)) continue;
    if (best == Pool::kIllegal || ScoreOf(candidate) < ScoreOf(best)) best = candidate;
  }
  return best;
}

int Descent::Next() {
  int centre = Pool::kIllegal;
  for (const int member : members_) {
    if (!parts_.times.Has(member)) continue;
    if (centre == Pool::kIllegal || parts_.times.SingleNs(member) < parts_.times.SingleNs(centre)) {
      centre = member;
    }
  }
  if (centre != Pool::kIllegal) {
    const double ns = parts_.times.SingleNs(centre);
    if (best_ns_ == 0 || ns < best_ns_ * kImprovement) {
      best_ns_ = ns;
      stale_ = 0;
    }
    const int found = stale_ < kStuckAfter ? BestNeighbour(centre) : Pool::kIllegal;
    if (found != Pool::kIllegal) {
      members_.push_back(found);
      ++stale_;
      return found;
    }
  } else if (!members_.empty() && parts_.tried.under_way().contains(members_.back())) {
    return Pool::kIllegal;
  }
  members_.clear();
  best_ns_ = 0;
  stale_ = 0;
  const int start = Start();
  if (start != Pool::kIllegal) members_.push_back(start);
  return start;
}

}  // namespace mlc::server
