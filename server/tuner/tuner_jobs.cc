// Jobs between callers, the log and the search threads.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "server/jobs/job_progress.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {
namespace {

// Ended jobs may get more trials; those of so many last ones go on exactly as they began.
constexpr int64_t kRecentJobs = 8;

Status NotYours(const std::string& id, const std::string& owner) {
  return Status(StatusCode::kPermissionDenied,
                "job " + id + " is " + (owner.empty() ? "without an owner" : owner + "'s") +
                    ": its owner or an administrator can cancel it");
}

// The job is turned away if the log has no space for it.
Status Kept(Metrics& metrics, Status status) {
  if (status.code() == StatusCode::kResourceExhausted) metrics.AddRejected("full");
  return status;
}

}  // namespace

Result<proto::SubmitJobReply> Tuner::Submit(const proto::SubmitJobRequest& request,
                                            const Caller& caller) {
  return AdmitJob(request, static_cast<int64_t>(request.ByteSizeLong()), caller,
                  [&] { return ParseJobRequest(request); });
}

Result<proto::SubmitJobReply> Tuner::SubmitUserKernel(const proto::SubmitUserKernelRequest& request,
                                                      const Caller& caller) {
  // As the policy of calls has it: whatever way a request came, it brings code.
  if (!caller.Has(Role::kAdmin)) {
    return Status(StatusCode::kPermissionDenied, caller.ToText() +
                                                     " may not submit user-supplied kernels: it "
                                                     "takes the role admin");
  }
  return AdmitJob(request.job(), static_cast<int64_t>(request.ByteSizeLong()), caller,
                  [&] { return ParseUserKernelRequest(request); });
}

// A job that `parse` reads from the request, once the quotas let it in.
Result<proto::SubmitJobReply> Tuner::AdmitJob(const proto::SubmitJobRequest& request, int64_t bytes,
                                              const Caller& caller,
                                              const std::function<Result<JobRequest>()>& parse) {
  const std::string owner = MLC_TRY(OwnerOf(request, caller));
  // How many of its trials are new is known later.
  Asked asked{0, request.tasks_size(), bytes};
  // Before the texts are parsed: what is too large costs nothing.
  const Quotas quotas = QuotasNow();
  const auto admit = [&](const Usage& usage) {
    Status admitted = quotas.Admit(owner, usage, asked);
    if (!admitted.ok()) options_.metrics->AddRejected("quota");
    return admitted;
  };
  MLC_TRY(admit(Usage()));
  JobRequest job = MLC_TRY(parse());
  job.owner = owner;
  std::lock_guard order(knowledge_);
  bool resumed = false;
  db::JobRow row = MLC_TRY(RowFor(job, resumed));
  proto::SubmitJobReply reply;
  reply.set_job(row.id.ToText());
  reply.set_resumed(resumed);
  {
    std::lock_guard lock(mutex_);
    if (draining_) {
      options_.metrics->AddRejected("draining");
      return Unavailable("the server is draining: submit the job to its successor");
    }
    const auto running = jobs_.find(row.id);
    reply.set_joined(running != jobs_.end() && !running->second->ended);
    // Joining is free; trials beyond the running job are charged to the caller.
    const int64_t there = reply.joined() ? running->second->progress.trials_wanted() : row.trials;
    asked.trials = std::max<int64_t>(0, job.options.trials - there);
    if (!reply.joined() || asked.trials > 0) MLC_TRY(admit(UsageOf(owner, row.id)));
  }
  options_.logger->info("job={} {} by {}: {} tasks, {} trials{}", reply.job(),
                        reply.joined() ? "joined"
                        : resumed      ? "resumed"
                                       : "submitted",
                        owner, row.tasks.size(), job.options.trials,
                        job.options.user_kernel.empty() ? "" : ", of a user-supplied kernel");
  options_.metrics->Add(reply.joined() ? Counter::kJobsJoined : Counter::kJobsSubmitted);
  if (reply.joined() && MLC_TRY(Join(row))) return reply;
  std::vector<db::WorkloadRow> workloads;
  for (const graph::Workload& workload : job.workloads) {
    workloads.push_back({workload.digest(), workload.ToText(), workload.Summary()});
  }
  MLC_TRY(Kept(*options_.metrics, log_.PutJob(row, workloads)));
  MLC_TRY(StartJob(std::move(row)));
  return reply;
}

// Without the job `but`. What follows a job is its own owner's. REQUIRES mutex_.
Usage Tuner::UsageOf(const std::string& owner, const Digest& but) const {
  Usage usage;
  for (const auto& [id, job] : jobs_) {
    if (job->ended || id == but) continue;
    const bool mine = job->row.owner == owner;
    const bool follows = job->next && job->next->owner == owner;
    usage.running_jobs += mine || follows ? 1 : 0;
    if (mine) {
      usage.queued_trials += std::max<int64_t>(0, job->options.trials - job->progress.trials());
    }
    if (follows) {
      usage.queued_trials +=
          std::max<int64_t>(0, job->progress.trials_wanted() - job->options.trials);
    }
  }
  return usage;
}

// The same job is running: it goes on, and what the new request wants beyond it follows. False if
// it has just ended.
Result<bool> Tuner::Join(const db::JobRow& row) {
  const JobOptions asked = MLC_TRY(JobOptions::Parse(row.options));
  std::shared_ptr<Job> job;
  {
    std::lock_guard lock(mutex_);
    const auto running = jobs_.find(row.id);
    if (running == jobs_.end() || running->second->ended) return false;
    job = running->second;
    if (job->row.owner == row.owner) {
      job->row.priority = row.priority;
      UpdateShares(job->row);
    }
    const bool is_ending = job->stop != Stop::kNo && !job->next;
    if (is_ending || asked.trials > job->progress.trials_wanted()) {
      job->next = row;
      job->progress.set_trials_wanted(asked.trials);
    }
  }
  MLC_TRY(Save(*job));
  return true;
}

// The newest job of the log that asked for the same, a fresh one included.
Result<std::optional<db::JobRow>> Tuner::EarlierJob(const JobRequest& request) const {
  if (request.fresh) return std::optional<db::JobRow>();
  std::vector<db::JobRow> rows = MLC_TRY(
      log_.Jobs({.state = {}, .limit = 1, .with_tasks = false, .base = JobIdOf(request, 0)}));
  if (rows.empty()) return std::optional<db::JobRow>();
  return std::optional<db::JobRow>(std::move(rows.front()));
}

// The row of the same job if the log has one, brought up to the request; else a new one. What the
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
    const db::LogMoment before = MLC_TRY(log_.Now());
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
  row.changed_us = WallUs();
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
  for (const db::JobQuery& query :
       {db::JobQuery{.state = db::JobState::kRunning, .with_tasks = false},
        db::JobQuery{.state = {}, .limit = kRecentJobs, .with_tasks = false}}) {
    for (const db::JobRow& row : MLC_TRY(log_.Jobs(query))) {
      const Result<JobOptions> options = JobOptions::Parse(row.options);
      if (options.ok()) pinned.push_back(options->models);
    }
  }
  return log_.PruneModels(pinned);
}

Result<std::shared_ptr<Tuner::Job>> Tuner::JobOf(db::JobRow row) const {
  auto job = std::make_shared<Job>();
  job->options = MLC_TRY(JobOptions::Parse(row.options));
  const target::Target target = MLC_TRY(target::Target::Parse(row.target));
  job->target_class = target.ClassText();
  job->progress = ProgressFrom(row);
  // All that it has is in the log, and took none of the time that counts from now on.
  job->progress.set_replayed(job->progress.trials());
  for (const db::JobTask& task : row.tasks) {
    const std::optional<db::WorkloadRow> workload = MLC_TRY(log_.FindWorkload(task.workload));
    if (!workload) return DataLoss("the log lacks workload " + task.workload.ToText());
    const graph::Workload parsed = MLC_TRY(ParseWorkload(workload->text));
    job->workload_texts.push_back(workload->text);
    job->flops.push_back(parsed.Flops());
    job->bytes.push_back(parsed.MinBytes());
  }
  job->floors_ns.resize(row.tasks.size());
  job->started_ms = SteadyMs();
  job->saved_ms = job->started_ms;
  job->row = std::move(row);
  return job;
}

// REQUIRES: the row is in the log, and no job of its id runs.
Status Tuner::StartJob(db::JobRow row) {
  std::shared_ptr<Job> job = MLC_TRY(JobOf(std::move(row)));
  std::lock_guard lock(mutex_);
  UpdateShares(job->row);
  jobs_[job->row.id] = job;
  Schedule(job);
  return Status();
}

// Sets owner, priority and weight of the job for fair sharing. REQUIRES mutex_.
void Tuner::UpdateShares(const db::JobRow& row) {
  // A job that nobody owns shares like a user of its own.
  const std::string user = row.owner.empty() ? row.id.ToText() : row.owner;
  leases_.shares().Set(row.id, {user, row.priority});
  leases_.shares().SetWeight(user, quotas_.LimitsOf(user).weight);
}

Quotas Tuner::QuotasNow() const {
  std::lock_guard lock(mutex_);
  return quotas_;
}

void Tuner::SetQuotas(const Quotas& quotas) {
  std::lock_guard lock(mutex_);
  quotas_ = quotas;
  for (const auto& [id, job] : jobs_) {
    if (!job->ended) UpdateShares(job->row);
  }
}

// Writes the job's row as it stands. What is to follow stands for it: after a crash, that is
// wanted. While the job runs its owner stays the same, even if another user extends it.
Status Tuner::Save(Job& job) {
  std::lock_guard order(rows_);
  db::JobRow row;
  proto::JobProgress progress;
  {
    std::lock_guard lock(mutex_);
    const int64_t now = SteadyMs();
    job.saved_ms = now;
    row = job.next ? *job.next : job.row;
    if (job.stop == Stop::kNo) {
      row.owner = job.row.owner;
      row.priority = job.row.priority;
      row.label = job.row.label;
    }
    row.crashes = job.row.crashes;
    row.trials = job.row.trials;
    if (!job.next && job.has_begun) row.spent_ms += now - job.started_ms;
    row.changed_us = WallUs();
    progress = job.progress;
  }
  row.progress = ProgressText(progress);
  const Status status = log_.PutJob(row);
  std::lock_guard lock(mutex_);
  if (status.ok()) log_status_ = status;
  return status;
}

Status Tuner::Cancel(const std::string& id, const Caller& caller) {
  std::shared_ptr<Job> job;
  {
    std::lock_guard lock(mutex_);
    job = FindJob(id);
    if (job != nullptr && job->ended) job = nullptr;
    if (job != nullptr) {
      if (!caller.Owns(job->row.owner)) return NotYours(id, job->row.owner);
      if (job->next && caller.Owns(job->next->owner)) job->next.reset();
      if (job->stop == Stop::kNo) job->stop = Stop::kCancelled;
      // In the log before the answer: no restart brings it back.
      job->row.state = db::JobState::kCancelled;
    }
  }
  if (job == nullptr) return CancelInLog(id, caller);
  MLC_TRY(Save(*job));
  options_.logger->info("job={} cancelled by {}", id, caller.ToText());
  std::lock_guard lock(mutex_);
  Schedule(job);
  return Status();
}

// A job that does not run here: there is nothing to stop, but perhaps something to write down.
Status Tuner::CancelInLog(const std::string& id, const Caller& caller) {
  db::JobRow row = MLC_TRY(RowInLog(id));
  if (!caller.Owns(row.owner)) return NotYours(id, row.owner);
  if (row.state == db::JobState::kCancelled) return Status();
  if (row.state != db::JobState::kRunning) {
    return NotFound("there is no running job " + id + ": it is " +
                    std::string(db::ToText(row.state)));
  }
  row.state = db::JobState::kCancelled;
  row.changed_us = WallUs();
  return log_.PutJob(row);
}

}  // namespace mlc::server
