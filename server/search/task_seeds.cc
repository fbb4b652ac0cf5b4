#include "server/search/task_seeds.h"

#include <algorithm>
#include <limits>

namespace mlc::server {
namespace {

// With a prior, seeds predicted this much slower than the best predicted one (log) are left out.
constexpr double kPoorSeed = 0.1;

}  // namespace

void TaskSeeds::Order(const std::vector<int>& again, int first, const Basis& basis) {
  const CandidateScores& scores = basis.scores;
  for (const int candidate : again) order_.push_back({candidate, "transfer"});
  std::vector<Seed> rest = basis.informed ? std::vector<Seed>() : prior_configs_;
  std::vector<Seed> scored = defaults_;
  if (basis.informed) scored.insert(scored.begin(), prior_configs_.begin(), prior_configs_.end());
  std::stable_sort(scored.begin(), scored.end(), [&](const Seed& a, const Seed& b) {
    return scores.Score(a.candidate) < scores.Score(b.candidate);
  });
  rest.insert(rest.end(), scored.begin(), scored.end());
  double bar = std::numeric_limits<double>::infinity();
  for (int i = 0; basis.informed && i < basis.candidates; ++i) {
    bar = std::min(bar, scores.Score(i) + kPoorSeed);
  }
  const auto append = [&](const Seed& seed) {
    if (!basis.times.Has(seed.candidate)) order_.push_back(seed);
  };
  for (const Seed& seed : rest) {
    if (seed.candidate == first) append(seed);
  }
  for (const Seed& seed : of_other_devices_) append(seed);
  for (const Seed& seed : rest) {
    if (seed.candidate != first && scores.Score(seed.candidate) < bar) append(seed);
  }
}

std::optional<Seed> TaskSeeds::Next(const TriedCandidates& tried) {
  while (!order_.empty()) {
    const Seed seed = order_.front();
    order_.pop_front();
    if (tried.Free(seed.candidate)) return seed;
  }
  return std::nullopt;
}

}  // namespace mlc::server
