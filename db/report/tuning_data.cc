#include "db/report/tuning_data.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/confirmed_best.h"
#include "db/report/explain.h"
#include "db/report/latency_curve.h"

namespace mlc::report {
namespace {

using costmodel::RooflineInputOf;
using costmodel::RooflineNs;

// The label is the path by which mlc-tune was given the model.
bool IsOfModel(const db::JobRow& job, const std::string& model) {
  return job.label == model || std::filesystem::path(job.label).filename() == model;
}

Result<db::JobRow> FindChosen(const db::TuningLog& log, const JobChoice& choice) {
  db::JobQuery query;
  query.with_tasks = false;
  const std::vector<db::JobRow> jobs = MLC_TRY(log.Jobs(query));
  if (jobs.empty()) return NotFound("the log has no job to report: tune with it first");
  const db::JobRow* found = nullptr;
  for (const db::JobRow& job : jobs) {
    if (!choice.model.empty() && !IsOfModel(job, choice.model)) continue;
    if (!job.id.ToText().starts_with(choice.job)) continue;
    if (found == nullptr) {
      found = &job;  // the newest comes first
    } else if (!choice.job.empty()) {
      return InvalidArgument("several jobs have an id that begins with " + choice.job);
    }
  }
  if (found == nullptr) {
    return NotFound(choice.job.empty() ? "the log has no job of the model '" + choice.model + "'"
                                       : "the log has no job " + choice.job +
                                             (choice.model.empty() ? "" : " of that model") +
                                             ": mlc-log stats lists them");
  }
  std::optional<db::JobRow> job = MLC_TRY(log.FindJob(found->id));
  if (!job) return NotFound("the log has no job " + found->id.ToText());
  return *std::move(job);
}

// The variants of the job's options, which the server writes. One alone if they cannot be read: the
// tasks and their times are the same then.
void ReadVariants(TuningData& data) {
  data.variants = {VariantData()};
  for (TaskData& task : data.tasks) task.uses = {task.task.occurrences};
  const auto json = nlohmann::json::parse(data.job.options, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("variants") || !json["variants"].is_array()) return;
  std::vector<VariantData> variants;
  std::vector<std::vector<int64_t>> uses;
  for (const auto& variant : json["variants"]) {
    if (!variant.is_object() || !variant.contains("uses") || !variant["uses"].is_array()) return;
    if (variant["uses"].size() != data.tasks.size()) return;
    const auto name = variant.find("name");
    variants.push_back(
        {name != variant.end() && name->is_string() ? name->get<std::string>() : "", 0});
    std::vector<int64_t>& counts = uses.emplace_back();
    for (const auto& count : variant["uses"]) {
      if (!count.is_number_integer()) return;
      counts.push_back(count.get<int64_t>());
    }
  }
  if (variants.empty()) return;
  data.variants = std::move(variants);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    data.tasks[i].uses.clear();
    for (const std::vector<int64_t>& counts : uses) data.tasks[i].uses.push_back(counts[i]);
  }
}

// The default config's newest confirmation if it has one, as the chosen config's would be; else its
// measurement; else the first correct record.
std::optional<db::Record> BeforeOf(const std::vector<db::Record>& records) {
  const db::Record* first = nullptr;
  const db::Record* start = nullptr;
  for (const db::Record& record : records) {
    if (record.measurement.outcome != Outcome::kOk) continue;
    if (first == nullptr) first = &record;
    if (start == nullptr && record.arm == "default") start = &record;
  }
  if (start == nullptr) start = first;
  if (start == nullptr) return std::nullopt;
  const std::string& config = start->config;
  for (const db::Record& record : records) {
    const bool correct = record.measurement.outcome == Outcome::kOk;
    if (correct && db::IsConfirmation(record) && record.config == config) start = &record;
  }
  return *start;
}

Result<TaskData> ReadTask(const db::TuningLog& log, const db::JobTask& task,
                          const target::Target& target) {
  TaskData data;
  data.task = task;
  if (const auto row = MLC_TRY(log.FindWorkload(task.workload))) {
    data.summary = row->summary;
    if (auto parsed = graph::Workload::Parse(row->text); parsed.ok()) {
      data.work = RooflineInputOf(*parsed);
      data.roofline_ns = RooflineNs(data.work, target);
      data.parsed = *std::move(parsed);
    }
  }
  db::RecordQuery query;
  query.workload = task.workload;
  query.target = target.ClassText();
  for (db::Record& record : MLC_TRY(log.List(query))) {
    if (CanGenerate(record)) {
      data.records.push_back(std::move(record));
    } else {
      ++data.outdated;
    }
  }
  data.before = BeforeOf(data.records);
  if (data.before) {
    BestSoFar before(data.records);
    before.Add(*data.before);
    data.before_ns = before.ns();
  }
  std::vector<db::Record> best =
      MLC_TRY(db::BestConfigs(log, task.workload, target.ClassText(), 1, CanGenerate));
  if (!best.empty()) data.chosen = std::move(best.front());
  return data;
}

// The sum over the tasks of a variant, or 0 if one that it executes has no time.
template <typename NsOf>
double ModelNs(const TuningData& data, size_t variant, const NsOf& ns_of) {
  double sum = 0;
  for (const TaskData& task : data.tasks) {
    if (task.uses[variant] == 0) continue;
    const double ns = ns_of(task);
    if (ns <= 0) return 0;
    sum += static_cast<double>(task.uses[variant]) * ns;
  }
  return sum;
}

void SumUp(TuningData& data) {
  for (size_t v = 0; v < data.variants.size(); ++v) {
    data.variants[v].best_ns = ModelNs(data, v, [](const TaskData& t) { return t.BestNs(); });
    const double best = data.variants[data.fastest].best_ns;
    const double ns = data.variants[v].best_ns;
    if (ns > 0 && (best <= 0 || ns < best)) data.fastest = v;
  }
  data.before_ns = ModelNs(data, 0, [](const TaskData& t) { return t.BeforeNs(); });
}

}  // namespace

double TuningData::ShareAfter(const TaskData& task) const {
  return best_ns() > 0 ? static_cast<double>(task.uses[fastest]) * task.BestNs() / best_ns() : 0;
}

double TuningData::ShareBefore(const TaskData& task) const {
  return before_ns > 0 ? static_cast<double>(task.uses[0]) * task.BeforeNs() / before_ns : 0;
}

Result<TuningData> ReadTuning(const db::TuningLog& log, const JobChoice& choice) {
  TuningData data;
  data.job = MLC_TRY(FindChosen(log, choice));
  data.fresh = data.job.base != data.job.id;
  data.target = MLC_TRY(target::Target::Parse(data.job.target));
  bool any = false;
  for (const db::JobTask& task : data.job.tasks) {
    data.tasks.push_back(MLC_TRY(ReadTask(log, task, data.target)));
    any = any || !data.tasks.back().records.empty();
  }
  if (!any) {
    return NotFound("job " + data.job.id.ToText() +
                    " has no record that this program can report: tune with it first");
  }
  ReadVariants(data);
  SumUp(data);
  return data;
}

}  // namespace mlc::report
