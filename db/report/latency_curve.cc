#include "db/report/latency_curve.h"

#include <algorithm>
#include <optional>

namespace mlc::report {
namespace {

void AddTo(db::ConfigTimes& times, const db::Record& record) {
  const double ns = record.measurement.median_ns;
  if (db::IsConfirmation(record)) {
    times.confirmed_ns = ns;
  } else if (times.single_ns == 0 || ns < times.single_ns) {
    times.single_ns = ns;
  }
}

struct OwnRecord {
  const db::Record* record = nullptr;
  size_t task = 0;
};

std::vector<OwnRecord> OwnRecords(const TuningData& data) {
  std::vector<OwnRecord> own;
  for (size_t t = 0; t < data.tasks.size(); ++t) {
    for (const db::Record& record : data.tasks[t].records) {
      if (data.IsOwn(record)) own.push_back({&record, t});
    }
  }
  std::sort(own.begin(), own.end(),
            [](const OwnRecord& a, const OwnRecord& b) { return a.record->id < b.record->id; });
  return own;
}

// A task before the job's first trial of it.
double StartNs(const TuningData& data, const TaskData& task, BestSoFar& best) {
  if (!data.fresh) {
    for (const db::Record& record : task.records) {
      const bool prior = record.id <= data.job.watermark && !data.IsOwn(record);
      if (prior) best.Add(record);
    }
    if (best.ns() > 0) return best.ns();
  }
  if (task.before) best.Add(*task.before);
  return best.ns();
}

double FastestNs(const TuningData& data, const std::vector<double>& task_ns) {
  double fastest = 0;
  for (size_t v = 0; v < data.variants.size(); ++v) {
    double sum = 0;
    bool complete = true;
    for (size_t t = 0; t < data.tasks.size(); ++t) {
      const int64_t uses = data.tasks[t].uses[v];
      complete = complete && (uses == 0 || task_ns[t] > 0);
      sum += static_cast<double>(uses) * task_ns[t];
    }
    if (complete && (fastest == 0 || sum < fastest)) fastest = sum;
  }
  return fastest;
}

}  // namespace

BestSoFar::BestSoFar(const std::vector<db::Record>& all) {
  std::unordered_map<std::string, db::ConfigTimes> configs;
  bool confirmed = false;
  for (const db::Record& record : all) {
    if (record.measurement.outcome != Outcome::kOk) continue;
    AddTo(configs[record.config], record);
    confirmed = confirmed || db::IsConfirmation(record);
  }
  if (!confirmed) return;
  std::vector<db::ConfigTimes> times;
  times.reserve(configs.size());
  for (const auto& [config, its] : configs) times.push_back(its);
  factor_ = db::UnconfirmedFactor(times);
}

void BestSoFar::Add(const db::Record& record) {
  if (record.measurement.outcome != Outcome::kOk) return;
  db::ConfigTimes& times = configs_[record.config];
  AddTo(times, record);
  const double ns = db::Weighed(times, factor_);
  if (best_ns_ == 0 || ns <= best_ns_) {
    best_ns_ = ns;
    best_ = record.config;
  } else if (record.config == best_) {
    // The leader turned out slower: another one may lead now.
    best_ns_ = ns;
    for (const auto& [config, its] : configs_) {
      const double other = db::Weighed(its, factor_);
      if (other >= best_ns_) continue;
      best_ns_ = other;
      best_ = config;
    }
  }
}

std::vector<CurvePoint> LatencyCurve(const TuningData& data) {
  std::vector<BestSoFar> best;
  std::vector<double> task_ns;
  for (const TaskData& task : data.tasks) {
    best.emplace_back(task.records);
    task_ns.push_back(StartNs(data, task, best.back()));
  }
  double fastest = FastestNs(data, task_ns);
  if (fastest == 0) return {};
  std::vector<CurvePoint> curve = {{0, 0, fastest}};
  double seconds = 0;
  std::optional<int64_t> last_us;
  if (data.job.created_us > 0) last_us = data.job.created_us;
  for (const auto& [record, task] : OwnRecords(data)) {
    if (last_us) {
      const double passed = static_cast<double>(record->created_us - *last_us) / 1e6;
      seconds += std::clamp(passed, 0.0, kLongestPauseSeconds);
    }
    last_us = record->created_us;
    best[task].Add(*record);
    if (best[task].ns() > 0 && best[task].ns() != task_ns[task]) {
      task_ns[task] = best[task].ns();
      fastest = FastestNs(data, task_ns);
    }
    curve.push_back({curve.back().trial + 1, seconds, fastest});
  }
  return curve;
}

}  // namespace mlc::report
