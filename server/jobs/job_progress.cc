#include "server/jobs/job_progress.h"

#include <google/protobuf/util/json_util.h>

#include "server/jobs/job_request.h"

namespace mlc::server {

std::string ProgressText(const proto::JobProgress& progress) {
  // What changes without the job, or stands in columns of its own, is left out.
  proto::JobProgress kept = progress;
  kept.clear_state();
  kept.clear_workers();
  kept.clear_gpu_busy();
  std::string text;
  return google::protobuf::util::MessageToJsonString(kept, &text).ok() ? text : std::string();
}

proto::JobProgress ProgressFrom(const db::JobRow& row) {
  proto::JobProgress progress;
  google::protobuf::util::JsonParseOptions newer;
  newer.ignore_unknown_fields = true;
  if (!row.progress.empty() &&
      !google::protobuf::util::JsonStringToMessage(row.progress, &progress, newer).ok()) {
    progress.Clear();
  }
  const auto tasks = static_cast<int>(row.tasks.size());
  while (progress.tasks_size() < tasks) progress.add_tasks();
  while (progress.tasks_size() > tasks) progress.mutable_tasks()->RemoveLast();
  if (row.progress.empty()) progress.set_trials(row.trials);
  const Result<JobOptions> options = JobOptions::Parse(row.options);
  if (options.ok()) progress.set_trials_wanted(options->trials);
  progress.set_state(static_cast<proto::JobState>(row.state));
  if (!row.detail.empty()) progress.set_detail(row.detail);
  return progress;
}

proto::JobSummary SummaryOf(const db::JobRow& row) {
  proto::JobSummary summary;
  summary.set_job(row.id.ToText());
  summary.set_label(row.label);
  summary.set_state(static_cast<proto::JobState>(row.state));
  summary.set_trials(row.trials);
  summary.set_target(row.target);
  summary.set_created_us(row.created_us);
  summary.set_owner(row.owner);
  summary.set_priority(row.priority);
  summary.set_detail(row.detail);
  summary.set_changed_us(row.changed_us);
  const Result<JobOptions> options = JobOptions::Parse(row.options);
  if (options.ok()) summary.set_trials_wanted(options->trials);
  return summary;
}

}  // namespace mlc::server
