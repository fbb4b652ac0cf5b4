// Which candidate is the best, and the confirmation of those that may be. The fastest of many
// single times is in part measurement noise, so the leaders are measured again side by side, and
// what was so measured counts more than what was not.
#include <algorithm>

#include "db/record.h"
#include "server/search/task_search.h"

namespace mlc::server {
namespace {

// Single times within this factor of the fastest are not ordered.
constexpr double kUncertainty = 1.03;
// Rounds of a task: the second for those that the first one's winner lost its lead to.
constexpr int kRounds = 3;

void AddToMean(double ns, double& mean, int& count) {
  ++count;
  mean += (ns - mean) / count;
}

}  // namespace

void TaskSearch::Timed::Add(double ns, bool confirms) {
  if (confirms) {
    AddToMean(ns, means.confirmed_ns, confirmations);
  } else {
    AddToMean(ns, means.single_ns, singles);
  }
}

void TaskSearch::FindBest() {
  std::vector<db::ConfigTimes> times;
  for (const auto& [candidate, timed] : timed_) {
    if (timed.confirmed()) times.push_back(timed.means);
  }
  unconfirmed_factor_ = db::UnconfirmedFactor(times);
  double best = 0;
  best_ = -1;
  best_ns_ = 0;
  for (const auto& [candidate, timed] : timed_) {
    const double weighed = db::Weighed(timed.means, unconfirmed_factor_);
    if (best != 0 && weighed >= best) continue;
    best = weighed;
    best_ = candidate;
    best_ns_ = timed.mean();
  }
}

double TaskSearch::default_ns() const {
  const auto it = timed_.find(default_);
  if (it == timed_.end()) return default_ns_;
  const bool compared = best_ >= 0 && timed_.at(best_).confirmed();
  return compared ? db::Weighed(it->second.means, unconfirmed_factor_) : it->second.mean();
}

// Leaders whose order is not confirmed, fastest first.
std::vector<int> TaskSearch::Unconfirmed(size_t most) const {
  std::vector<std::pair<double, int>> order;
  double fastest = 0, confirmed = 0;
  for (const auto& [candidate, timed] : timed_) {
    const double weighed = db::Weighed(timed.means, unconfirmed_factor_);
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

std::vector<Pick> TaskSearch::NextGroup(size_t most) {
  if (groups_ >= kRounds || most < 2 || confirming_ > 0) return {};
  std::vector<int> group = Unconfirmed(most);
  if (group.empty()) return {};
  const bool compared = best_ >= 0 && timed_.at(best_).confirmed();
  if (compared) {
    // The winner so far: all of a round meet the same conditions.
    group.resize(std::min(group.size(), most - 1));
    group.push_back(best_);
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

}  // namespace mlc::server
