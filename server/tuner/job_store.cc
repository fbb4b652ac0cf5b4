#include "server/tuner/job_store.h"

#include <utility>

#include "server/jobs/job_progress.h"

namespace mlc::server {
namespace {

// Ended jobs may get more trials; those of so many last ones go on exactly as they began.
constexpr int64_t kRecentJobs = 8;

}  // namespace

Result<std::optional<db::JobRow>> JobStore::EarlierJob(const JobRequest& request) const {
  if (request.fresh) return std::optional<db::JobRow>();
  std::vector<db::JobRow> rows = MLC_TRY(context_.log.Jobs(
      {.state = {}, .limit = 1, .with_tasks = false, .base = JobIdOf(request, 0)}));
  if (rows.empty()) return std::optional<db::JobRow>();
  return std::optional<db::JobRow>(std::move(rows.front()));
}

Result<db::JobRow> JobStore::RowFor(const JobRequest& request, bool& resumed) const {
  JobOptions options = request.options;
  db::JobRow row;
  if (std::optional<db::JobRow> old = MLC_TRY(EarlierJob(request))) {
    row = *std::move(old);
    resumed = true;
    const JobOptions before = MLC_TRY(JobOptions::Parse(row.options));
    options.use_history = before.use_history;
    options.models = before.models;
  } else {
    const int64_t now = context_.WallUs();
    const db::LogMoment before = MLC_TRY(context_.log.Now());
    row.id = JobIdOf(request, request.fresh ? now : 0);
    row.target = request.target.ToText();
    row.created_us = now;
    row.watermark = before.last_id;
    options.models = before.last_model_id;
  }
  row.base = JobIdOf(request, 0);
  row.crashes = 0;
  row.label = request.label;
  row.owner = request.owner;
  row.priority = request.priority;
  row.options = options.ToText();
  row.tasks = request.tasks;
  row.state = db::JobState::kRunning;
  row.spent_ms = 0;
  row.changed_us = context_.WallUs();
  row.detail.clear();
  return row;
}

Status JobStore::SaveModels(const JobSpec& job, std::vector<SavedModel> models) {
  const MutexLock order(knowledge);
  for (SavedModel& model : models) {
    MLC_TRY(context_.log.SaveModel({model.family, job.target_class, model.features,
                                    std::move(model.bytes), context_.WallUs()}));
  }
  if (models.empty()) return Status();
  std::vector<int64_t> pinned;
  for (const db::JobQuery& query :
       {db::JobQuery{.state = db::JobState::kRunning, .with_tasks = false},
        db::JobQuery{.state = {}, .limit = kRecentJobs, .with_tasks = false}}) {
    for (const db::JobRow& row : MLC_TRY(context_.log.Jobs(query))) {
      const Result<JobOptions> options = JobOptions::Parse(row.options);
      if (options.ok()) pinned.push_back(options->models);
    }
  }
  return context_.log.PruneModels(pinned);
}

Result<db::JobRow> JobStore::Row(const std::string& id) const {
  const Result<Digest> digest = Digest::Parse(id);
  std::optional<db::JobRow> row;
  if (digest.ok()) row = MLC_TRY(context_.log.FindJob(*digest));
  if (!row) return NotFound("there is no job " + id + " on this server");
  return *std::move(row);
}

Result<std::string> JobStore::WorkloadText(const Digest& workload) const {
  std::optional<db::WorkloadRow> row = MLC_TRY(context_.log.FindWorkload(workload));
  if (!row) return DataLoss("the log lacks workload " + workload.ToText());
  return std::move(row->text);
}

Result<std::shared_ptr<RunningJob>> JobStore::Open(db::JobRow row) const {
  JobSpec spec;
  spec.id = row.id;
  spec.options = MLC_TRY(JobOptions::Parse(row.options));
  spec.target_class = MLC_TRY(target::Target::Parse(row.target)).ClassText();
  spec.tasks = row.tasks;
  for (const db::JobTask& task : row.tasks) {
    std::string text = MLC_TRY(WorkloadText(task.workload));
    const graph::Workload parsed = MLC_TRY(ParseWorkload(text));
    spec.workload_texts.push_back(std::move(text));
    spec.flops.push_back(parsed.Flops());
    spec.bytes.push_back(parsed.MinBytes());
  }
  JobFacts facts;
  facts.progress = ProgressFrom(row);
  // All that it has is in the log, and took none of the time that counts from now on.
  facts.progress.replayed = facts.progress.trials;
  facts.floors_ns.resize(row.tasks.size());
  facts.started_ms = context_.NowMs();
  facts.saved_ms = facts.started_ms;
  facts.row = std::move(row);
  return std::make_shared<RunningJob>(std::move(spec), std::move(facts));
}

// What is to follow stands for the job: after a crash, that is wanted. While the job runs its owner
// stays the same, even if another user extends it.
Status JobStore::Save(RunningJob& job) {
  const MutexLock order(rows_);
  db::JobRow row;
  JobProgress progress;
  {
    const MutexLock lock(tables_.mutex);
    JobFacts& facts = tables_.Of(job);
    const int64_t now = context_.NowMs();
    facts.saved_ms = now;
    row = facts.next ? *facts.next : facts.row;
    if (facts.stop == JobStop::kNo) {
      row.owner = facts.row.owner;
      row.priority = facts.row.priority;
      row.label = facts.row.label;
    }
    row.crashes = facts.row.crashes;
    row.trials = facts.row.trials;
    if (!facts.next && facts.has_begun) row.spent_ms += now - facts.started_ms;
    row.changed_us = context_.WallUs();
    progress = facts.progress;
  }
  row.progress = ProgressText(progress);
  const Status status = context_.log.PutJob(row);
  if (status.ok()) log_health_.Set(status);
  return status;
}

}  // namespace mlc::server
