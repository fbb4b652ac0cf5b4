// Jobs between the log and the search thread.
#include <spdlog/spdlog.h>

#include <utility>

#include "server/clock.h"
#include "server/tuner.h"

namespace mlc::server {
namespace {

// Ended jobs may get more trials; those of so many last ones go on exactly as they began.
constexpr size_t kRecentJobs = 8;

}  // namespace

Status Tuner::Resume() {
  for (db::JobRow& row : MLC_TRY(log_.Jobs())) {
    if (row.state != db::JobState::kRunning) continue;
    options_.logger->info("job {} goes on", row.id.ToText());
    MLC_TRY(Admit(std::move(row)));
  }
  return Status();
}

// The newest job of the log that asked for the same, a fresh one included: its id tells.
Result<std::optional<db::JobRow>> Tuner::EarlierJob(const JobRequest& request) const {
  if (request.fresh) return std::optional<db::JobRow>();
  const Digest usual = StudyOf(request, 0);
  for (db::JobRow& row : MLC_TRY(log_.Jobs())) {
    if (row.id != usual && row.id != StudyOf(request, row.created_us)) continue;
    return std::optional<db::JobRow>(std::move(row));
  }
  return std::optional<db::JobRow>();
}

// The row of the same study if the log has one, brought up to the request; else a new one. What the
// job knew when it began stays.
Result<db::JobRow> Tuner::RowFor(const JobRequest& request, bool& resumed) {
  JobOptions options = request.options;
  db::JobRow row;
  if (std::optional<db::JobRow> old = MLC_TRY(EarlierJob(request))) {
    row = *std::move(old);
    resumed = true;
    const JobOptions before = MLC_TRY(JobOptions::Parse(row.options));
    options.use_history = before.use_history;
    options.models = before.models;
  } else {
    const int64_t now = WallUs();
    const db::LogStats stats = MLC_TRY(log_.Stats());
    row.id = StudyOf(request, request.fresh ? now : 0);
    row.target = request.target.ToText();
    row.created_us = now;
    row.watermark = stats.last_id;
    options.models = stats.last_model_id;
  }
  row.label = request.label;
  row.options = options.ToText();
  row.tasks = request.tasks;
  row.state = db::JobState::kRunning;
  row.detail.clear();
  return row;
}

// What a job taught, for later ones; models that no job needs any more are forgotten.
Status Tuner::SaveModels(const Job& job, std::vector<SavedModel> models) {
  std::lock_guard order(knowledge_);
  for (SavedModel& model : models) {
    MLC_TRY(log_.SaveModel(
        {model.family, job.target_class, model.features, std::move(model.bytes), WallUs()}));
  }
  if (models.empty()) return Status();
  std::vector<int64_t> pinned;
  size_t place = 0;
  for (const db::JobRow& row : MLC_TRY(log_.Jobs())) {
    const bool recent = place++ < kRecentJobs;
    if (!recent && row.state != db::JobState::kRunning && row.state != db::JobState::kCancelled) {
      continue;
    }
    const Result<JobOptions> options = JobOptions::Parse(row.options);
    if (options.ok() && options->models >= 0) pinned.push_back(options->models);
  }
  return log_.PruneModels(pinned);
}

Status Tuner::Admit(db::JobRow row) {
  auto job = std::make_shared<Job>();
  job->options = MLC_TRY(JobOptions::Parse(row.options));
  const target::Target target = MLC_TRY(target::Target::Parse(row.target));
  job->target_class = target.ClassText();
  for (const db::JobTask& task : row.tasks) {
    const std::optional<db::WorkloadRow> workload = MLC_TRY(log_.FindWorkload(task.workload));
    if (!workload) return DataLoss("the log lacks workload " + task.workload.ToText());
    job->workload_texts.push_back(workload->text);
    MLC_TRY(graph::Workload::Parse(workload->text));
    job->progress.add_tasks();
  }
  job->floors_ns.resize(row.tasks.size());
  job->started_ms = SteadyMs();
  job->row = std::move(row);
  job->progress.set_trials_wanted(job->options.trials);
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Job>& place = jobs_[job->row.id];
    // The same job is running: its budget does not change under way.
    if (place != nullptr && !place->ended) return Status();
    place = std::move(job);
    news_ = true;
  }
  wake_.notify_all();
  return Status();
}

}  // namespace mlc::server
