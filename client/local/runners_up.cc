#include "client/local/runners_up.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "compiler/package/origin.h"
#include "compiler/schedule/space/family.h"

namespace mlc::client {
namespace {

// A config slower than that by its own time never won in a model.
constexpr double kMostSlowdown = 1.3;
constexpr int kOfOneTask = 6;
// Lighter tasks cannot gain what a measurement of the model could tell.
constexpr double kLeastShare = 0.015;
// Two measurements of one model differ by 0.3 %.
constexpr double kLeastGain = 0.004;

}  // namespace

std::vector<Substitution> RunnersUp(std::vector<HeavyTask> tasks, int most) {
  const auto cost = [](const HeavyTask& task) { return task.uses * task.ns; };
  std::ranges::stable_sort(tasks, std::greater(), cost);
  double total = 0;
  for (const HeavyTask& task : tasks) total += cost(task);
  std::vector<std::pair<double, Substitution>> ranked;
  for (const HeavyTask& task : tasks) {
    if (task.ns <= 0 || cost(task) < kLeastShare * total) continue;
    int rank = 0;
    for (const db::Record& record : task.known) {
      if (record.config == task.config || rank == kOfOneTask) continue;
      if (record.measurement.median_ns > kMostSlowdown * task.ns) continue;
      ranked.push_back({cost(task) / ++rank, {task.workload, task.uses, task.ns, record}});
    }
  }
  std::ranges::stable_sort(ranked, std::greater(), [](const auto& one) { return one.first; });
  std::vector<Substitution> chosen;
  for (auto& [gain, substitution] : ranked) {
    if (static_cast<int>(chosen.size()) < most) chosen.push_back(std::move(substitution));
  }
  return chosen;
}

bool IsGain(double quotient) { return quotient > 0 && quotient <= 1 - kLeastGain; }

std::vector<size_t> Gains(std::span<const Substitution> tried, std::span<const double> quotients) {
  std::map<Digest, size_t> best;
  for (size_t i = 0; i < tried.size(); ++i) {
    if (!IsGain(quotients[i])) continue;
    const auto [at, added] = best.try_emplace(tried[i].workload, i);
    if (!added && quotients[i] < quotients[at->second]) at->second = i;
  }
  std::vector<size_t> gains;
  for (const auto& [workload, i] : best) gains.push_back(i);
  std::ranges::sort(gains, std::less(), [&](size_t i) { return quotients[i]; });
  return gains;
}

package::LockFile Substituted(package::LockFile lock, std::span<const Substitution> made) {
  for (const Substitution& substitution : made) {
    const Result<schedule::Config> config = schedule::Config::Parse(substitution.record.config);
    if (!config.ok()) continue;
    lock.choices[substitution.workload] = {
        *config,
        package::FromRecord{substitution.record.task_uid.ToText()},
        substitution.record.measurement.median_ns,
        {}};
  }
  return lock;
}

db::Record RecordOf(const Substitution& made, double gain_ms, const Digest& job, int64_t now_us) {
  db::Record record = made.record;
  Measurement& m = record.measurement;
  const double ns = std::max(made.ns - gain_ms * 1e6 / made.uses, 0.1 * made.ns);
  const double scale = ns / m.median_ns;
  m.median_ns = ns;
  m.p10_ns = std::min(m.p10_ns * scale, ns);
  m.p90_ns = std::max(m.p90_ns * scale, ns);
  char detail[160];
  std::snprintf(detail, sizeof(detail),
                "in the whole model %.3f us faster a use than what took %.3f us by its own time",
                gain_ms * 1e3 / made.uses, made.ns / 1e3);
  m.detail = detail;
  record.floor_ns = std::min(record.floor_ns, ns);
  record.arm = db::kConfirmationArm;
  record.job_id = job;
  record.predicted_rank = 0;
  record.created_us = now_us;
  record.id = 0;
  record.task_uid = DigestOf("in the whole model " + job.ToText() + made.workload.ToText() +
                             record.config + std::to_string(now_us));
  return record;
}

}  // namespace mlc::client
