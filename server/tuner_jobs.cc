// Jobs between the log and the search thread.
#include <spdlog/spdlog.h>

#include <utility>

#include "server/clock.h"
#include "server/tuner.h"

namespace mlc::server {
Status Tuner::Resume() {
  for (db::JobRow& row : MLC_TRY(log_.Jobs())) {
    if (row.state != db::JobState::kRunning) continue;
    options_.logger->info("job {} goes on", row.id.ToText());
    MLC_TRY(Admit(std::move(row)));
  }
  return Status();
}

// The row of the same study if the log has one, brought up to the request; else a new one.
Result<db::JobRow> Tuner::RowFor(const JobRequest& request, bool& resumed) {
  const int64_t now = WallUs();
  const Digest id = StudyOf(request, request.fresh ? now : 0);
  db::JobRow row;
  if (std::optional<db::JobRow> old = MLC_TRY(log_.FindJob(id))) {
    row = *std::move(old);
    resumed = true;
  } else {
    row.id = id;
    row.target = request.target.ToText();
    row.created_us = now;
    row.watermark = MLC_TRY(log_.Stats()).last_id;
  }
  row.label = request.label;
  row.options = request.options.ToText();
  row.tasks = request.tasks;
  row.state = db::JobState::kRunning;
  row.detail.clear();
  return row;
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
