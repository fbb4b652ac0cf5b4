#include "server/jobs/search_input.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "costmodel/history/similar_workloads.h"
#include "db/confirmed_best.h"
#include "server/jobs/job_request.h"

namespace mlc::server {
namespace {

// Of each task: what a search can learn from, and what it can begin with. Of a job, so that its
// start does not take longer on a log of years than the reading of so many records, some 10 us
// each.
constexpr int64_t kMostPrior = 4'096;
constexpr int64_t kLeastPrior = 64;
constexpr int64_t kMostPriorOfJob = 16'384;
constexpr int kFastestPrior = 64;
// Of other targets: of so many of them, as many fastest configs each.
constexpr size_t kMostOtherTargets = 4;
constexpr int kFastestOfOthers = 3;

// A config that does not parse is of a form that this program does not know; it is skipped. So
// are user-supplied kernels without parameters: no search can vary them.
void AddTrial(const db::Record& record, std::vector<PriorTrial>& trials) {
  Result<schedule::Config> config = schedule::Config::Parse(record.config);
  if (!config.ok()) return;
  if (!schedule::IsUserKernel(*config) || schedule::IsTunedKernel(*config)) {
    trials.push_back({*std::move(config), record.measurement, db::IsConfirmation(record)});
  }
}

// The newest records of the workload and the fastest: a workload that many jobs share has millions.
Result<std::vector<PriorTrial>> PriorOf(const db::TuningLog& log, const db::JobRow& job,
                                        const Digest& workload, const std::string& target,
                                        int64_t most) {
  db::RecordQuery query;
  query.workload = workload;
  query.target = target;
  query.up_to_id = job.watermark;
  query.limit = most;
  query.newest = true;
  const std::vector<db::Record> newest = MLC_TRY(log.List(query));
  std::vector<PriorTrial> trials;
  if (std::ssize(newest) == most) {
    const auto older = [&](const db::Record& record) { return record.id < newest.front().id; };
    std::vector<db::Record> fastest = MLC_TRY(log.Best(workload, target, kFastestPrior, older));
    std::sort(fastest.begin(), fastest.end(),
              [](const db::Record& a, const db::Record& b) { return a.id < b.id; });
    for (const db::Record& record : fastest) AddTrial(record, trials);
  }
  for (const db::Record& record : newest) AddTrial(record, trials);
  return trials;
}

// The same for a reproducible job: the order and, where they are too many, the choice of the
// records do not depend on the order in which they were inserted. Of too many, the fastest.
Result<std::vector<PriorTrial>> PriorByContents(const db::TuningLog& log, const db::JobRow& job,
                                                const Digest& workload, const std::string& target,
                                                int64_t most) {
  db::RecordQuery query;
  query.workload = workload;
  query.target = target;
  query.up_to_id = job.watermark;
  query.limit = most + 1;
  std::vector<db::Record> records = MLC_TRY(log.List(query));
  if (std::ssize(records) > most) {
    const auto before = [&](const db::Record& record) { return record.id <= job.watermark; };
    records = MLC_TRY(log.Best(workload, target, static_cast<int>(most), before));
  }
  std::sort(records.begin(), records.end(), [](const db::Record& a, const db::Record& b) {
    return std::tie(a.created_us, a.task_uid) < std::tie(b.created_us, b.task_uid);
  });
  std::vector<PriorTrial> trials;
  for (const db::Record& record : records) AddTrial(record, trials);
  return trials;
}

// The class texts of other targets of the same kind, in an order that does not change as the log
// grows.
Result<std::vector<std::string>> OtherTargets(const db::TuningLog& log,
                                              const target::Target& target) {
  std::vector<std::string> others;
  for (std::string& text : MLC_TRY(log.Targets())) {
    const Result<target::Target> other = target::Target::Parse(text);
    if (!other.ok() || other->device.index() != target.device.index()) continue;
    if (text != target.ClassText()) others.push_back(std::move(text));
  }
  std::sort(others.begin(), others.end());
  return others;
}

// The fastest of each target, then the second ones: what was fast on one of them may be slow here.
Result<std::vector<schedule::Config>> OfOtherTargets(const db::TuningLog& log,
                                                     const db::JobRow& job, const Digest& workload,
                                                     const std::vector<std::string>& others) {
  const auto is_generated = [](const db::Record& record) {
    return !schedule::IsUserKernel(record.config);
  };
  std::vector<std::vector<db::Record>> fastest;
  for (const std::string& other : others) {
    if (fastest.size() == kMostOtherTargets) break;
    std::vector<db::Record> found = MLC_TRY(
        db::BestConfigs(log, workload, other, kFastestOfOthers, is_generated, job.watermark));
    if (!found.empty()) fastest.push_back(std::move(found));
  }
  std::vector<schedule::Config> configs;
  for (size_t place = 0; place < kFastestOfOthers; ++place) {
    for (const std::vector<db::Record>& records : fastest) {
      if (place >= records.size()) continue;
      Result<schedule::Config> config = schedule::Config::Parse(records[place].config);
      if (config.ok()) configs.push_back(*std::move(config));
    }
  }
  return configs;
}

// How often each variant of the model uses each task; see SearchTask.
Status SetUses(const JobOptions& options, SearchInput& input) {
  for (const JobVariant& variant : options.variants) {
    if (variant.uses.size() != input.tasks.size()) {
      return DataLoss("a job's options do not fit its tasks");
    }
    for (size_t i = 0; i < input.tasks.size(); ++i) {
      input.tasks[i].uses.push_back(variant.uses[i]);
    }
  }
  return Status();
}

// The nearest workloads of every task, each once.
Status AddRelated(const db::TuningLog& log, WorkloadIndex& index, const db::JobRow& job,
                  const std::string& target, SearchInput& input) {
  SimilarWorkloads similar_workloads(log, index, target, job.watermark);
  std::set<const costmodel::SimilarWorkload*> added;
  for (const SearchTask& task : input.tasks) {
    for (const costmodel::SimilarWorkload* similar :
         MLC_TRY(similar_workloads.For(task.workload))) {
      if (added.insert(similar).second) input.related.push_back(*similar);
    }
  }
  return Status();
}

}  // namespace

Result<SearchInput> SearchInputOf(const db::TuningLog& log, WorkloadIndex& index,
                                  const db::JobRow& job) {
  const JobOptions options = MLC_TRY(JobOptions::Parse(job.options));
  SearchInput input;
  input.target = MLC_TRY(target::Target::Parse(job.target));
  input.seed = options.seed;
  input.trials = options.trials;
  const std::string target = input.target.ClassText();
  const std::vector<std::string> others = MLC_TRY(OtherTargets(log, input.target));
  const int64_t most = std::clamp(kMostPriorOfJob / std::max<int64_t>(1, std::ssize(job.tasks)),
                                  kLeastPrior, kMostPrior);
  for (const db::JobTask& task : job.tasks) {
    const std::optional<db::WorkloadRow> row = MLC_TRY(log.FindWorkload(task.workload));
    if (!row) return DataLoss("the log lacks workload " + task.workload.ToText());
    SearchTask entry{MLC_TRY(ParseWorkload(row->text)), task.occurrences, {}};
    if (options.use_history) {
      const auto prior_of = options.reproducible ? PriorByContents : PriorOf;
      entry.prior = MLC_TRY(prior_of(log, job, task.workload, target, most));
      if (entry.prior.empty()) {
        entry.of_other_targets = MLC_TRY(OfOtherTargets(log, job, task.workload, others));
      }
    }
    input.tasks.push_back(std::move(entry));
  }
  MLC_TRY(SetUses(options, input));
  if (!options.use_history) return input;
  // The usual index knows the workloads that were inserted last.
  WorkloadIndex all(log, INT64_MAX / 2);
  MLC_TRY(AddRelated(log, options.reproducible ? all : index, job, target, input));
  for (db::ModelRow& model : MLC_TRY(log.Models(target, options.models))) {
    input.models.push_back({model.family, model.features, std::move(model.bytes)});
  }
  return input;
}

}  // namespace mlc::server
