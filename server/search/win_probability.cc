#include "server/search/win_probability.h"

#include <algorithm>
#include <utility>

namespace mlc::server {
namespace {

// What tasks used alike may gain, all variants gain: it decides nothing.
double MostSaved(std::span<const TaskOutlook> tasks, size_t variant, size_t leader) {
  double saved = 0;
  for (const TaskOutlook& task : tasks) {
    const double more = task.uses[variant] - task.uses[leader];
    if (more > 0) saved += more * task.ns * task.headroom;
  }
  return saved;
}

}  // namespace

double WinProbabilities::WeightOf(std::span<const double> uses) const {
  double weight = 0;
  for (size_t v = 0; v < uses.size(); ++v) weight = std::max(weight, of_variant[v] * uses[v]);
  return weight;
}

WinProbabilities WinProbabilitiesOf(std::span<const TaskOutlook> tasks) {
  const size_t variants = tasks.empty() ? 1 : tasks[0].uses.size();
  // Tasks that were given up, then the time.
  std::vector<std::pair<int, double>> now(variants, {0, 0.0});
  for (const TaskOutlook& task : tasks) {
    for (size_t v = 0; v < variants; ++v) {
      now[v].first += task.given_up && task.uses[v] > 0 ? 1 : 0;
      now[v].second += task.uses[v] * task.ns;
    }
  }
  WinProbabilities result;
  result.leader = static_cast<size_t>(std::min_element(now.begin(), now.end()) - now.begin());
  const auto& [lost, leader_ns] = now[result.leader];
  result.leader_ns = leader_ns;
  for (const auto& [its_lost, ns] : now) {
    const size_t v = result.of_variant.size();
    const double behind = ns - leader_ns;
    const double probability = behind <= 0 ? 1 : 1 - behind / MostSaved(tasks, v, result.leader);
    result.of_variant.push_back(its_lost > lost ? 0 : std::max(0.0, probability));
  }
  return result;
}

}  // namespace mlc::server
