#include "server/search/candidate_times.h"

#include <algorithm>
#include <utility>

namespace mlc::server {
namespace {

// Single times within this factor of the fastest are not ordered.
constexpr double kUncertainty = 1.03;

void AddToMean(double ns, double& mean, int& count) {
  ++count;
  mean += (ns - mean) / count;
}

}  // namespace

void CandidateTimes::Timed::Add(double ns, bool confirms) {
  if (confirms) {
    AddToMean(ns, means.confirmed_ns, confirmations);
  } else {
    AddToMean(ns, means.single_ns, singles);
  }
}

void CandidateTimes::Add(int candidate, double ns, bool confirms) {
  timed_[candidate].Add(ns, confirms);
  FindBest();
}

void CandidateTimes::Drop(int candidate) {
  if (timed_.erase(candidate) > 0) FindBest();
}

void CandidateTimes::FindBest() {
  std::vector<db::ConfigTimes> times;
  for (const auto& [candidate, timed] : timed_) {
    if (timed.confirmed()) times.push_back(timed.means);
  }
  unconfirmed_factor_ = db::UnconfirmedFactor(times);
  double best = 0;
  best_ = -1;
  best_ns_ = 0;
  for (const auto& [candidate, timed] : timed_) {
    const double weighed = Weighed(timed);
    if (best != 0 && weighed >= best) continue;
    best = weighed;
    best_ = candidate;
    best_ns_ = timed.mean();
  }
}

bool CandidateTimes::best_is_confirmed() const {
  return best_ >= 0 && timed_.at(best_).confirmed();
}

double CandidateTimes::ComparableNs(int candidate) const {
  const auto it = timed_.find(candidate);
  if (it == timed_.end()) return 0;
  return best_is_confirmed() ? Weighed(it->second) : it->second.mean();
}

std::vector<int> CandidateTimes::All() const {
  std::vector<int> all;
  all.reserve(timed_.size());
  for (const auto& [candidate, timed] : timed_) all.push_back(candidate);
  return all;
}

std::vector<int> CandidateTimes::Fastest(size_t count) const {
  std::vector<std::pair<double, int>> order;
  for (const auto& [candidate, timed] : timed_) order.emplace_back(Weighed(timed), candidate);
  std::sort(order.begin(), order.end());
  std::vector<int> fastest;
  for (const auto& [ns, candidate] : order) {
    if (fastest.size() < count) fastest.push_back(candidate);
  }
  return fastest;
}

std::vector<int> CandidateTimes::Unconfirmed(size_t most) const {
  std::vector<std::pair<double, int>> order;
  double fastest = 0, confirmed = 0;
  for (const auto& [candidate, timed] : timed_) {
    const double weighed = Weighed(timed);
    if (timed.confirmed()) {
      if (confirmed == 0 || weighed < confirmed) confirmed = weighed;
    } else {
      order.emplace_back(weighed, candidate);
      if (fastest == 0 || weighed < fastest) fastest = weighed;
    }
  }
  std::sort(order.begin(), order.end());
  const double limit = kUncertainty * (confirmed == 0 ? fastest : confirmed);
  std::vector<int> leaders;
  for (const auto& [ns, candidate] : order) {
    if (ns <= limit && leaders.size() < most) leaders.push_back(candidate);
  }
  return leaders;
}

}  // namespace mlc::server
