#include "db/report/knob_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compiler/schedule/space/config.h"

namespace mlc::report {
namespace {

struct Timed {
  schedule::Config config;
  double ns = 0;
};

// Correct records of one family. Confirmations are of configs that were measured before.
std::vector<Timed> TimedConfigs(const TaskData& task, const schedule::Config& chosen) {
  std::vector<Timed> timed;
  for (const db::Record& record : task.records) {
    if (record.measurement.outcome != Outcome::kOk || db::IsConfirmation(record)) continue;
    Result<schedule::Config> config = schedule::Config::Parse(record.config);
    if (!config.ok() || config->family != chosen.family) continue;
    if (config->knobs.size() != chosen.knobs.size()) continue;
    timed.push_back({*std::move(config), record.measurement.median_ns});
  }
  return timed;
}

struct Group {
  double sum = 0;  // of logarithms
  double count = 0;
  double best_ns = 0;
};

double OmegaSquared(const std::map<int64_t, Group>& groups, double mean, double total,
                    double count) {
  const auto values = static_cast<double>(groups.size());
  if (values < 2 || count <= values || total <= 0) return 0;
  double between = 0;
  for (const auto& [value, group] : groups) {
    const double difference = group.sum / group.count - mean;
    between += group.count * difference * difference;
  }
  const double within = std::max(0.0, total - between) / (count - values);
  return std::clamp((between - (values - 1) * within) / (total + within), 0.0, 1.0);
}

KnobWeight WeighKnob(const std::vector<Timed>& timed, size_t knob, const schedule::Config& chosen,
                     double mean, double total) {
  KnobWeight weight{chosen.knobs[knob].first, chosen.knobs[knob].second, {}, 0, 0};
  std::map<int64_t, Group> groups;
  for (const Timed& one : timed) {
    Group& group = groups[one.config.knobs[knob].second];
    group.sum += std::log(one.ns);
    group.count += 1;
    if (group.best_ns == 0 || one.ns < group.best_ns) group.best_ns = one.ns;
  }
  weight.weight = OmegaSquared(groups, mean, total, static_cast<double>(timed.size()));
  double other = 0;
  for (const auto& [value, group] : groups) {
    weight.tried.push_back(value);
    if (value == weight.chosen) continue;
    if (other == 0 || group.best_ns < other) other = group.best_ns;
  }
  const auto mine = groups.find(weight.chosen);
  if (mine != groups.end()) weight.without = other / mine->second.best_ns;
  return weight;
}

}  // namespace

std::vector<KnobWeight> WeighKnobs(const TaskData& task) {
  if (!task.chosen) return {};
  const Result<schedule::Config> chosen = schedule::Config::Parse(task.chosen->config);
  if (!chosen.ok()) return {};
  const std::vector<Timed> timed = TimedConfigs(task, *chosen);
  double sum = 0, squares = 0;
  for (const Timed& one : timed) {
    const double log = std::log(one.ns);
    sum += log;
    squares += log * log;
  }
  const auto count = static_cast<double>(timed.size());
  const double mean = count > 0 ? sum / count : 0;
  const double total = std::max(0.0, squares - count * mean * mean);
  std::vector<KnobWeight> weights;
  for (size_t knob = 0; knob < chosen->knobs.size(); ++knob) {
    weights.push_back(WeighKnob(timed, knob, *chosen, mean, total));
  }
  return weights;
}

}  // namespace mlc::report
