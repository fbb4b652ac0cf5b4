#include "server/tuner/job_admission.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mlc::server {
namespace {

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

std::vector<db::WorkloadRow> RowsOf(const std::vector<graph::Workload>& workloads) {
  std::vector<db::WorkloadRow> rows;
  rows.reserve(workloads.size());
  for (const graph::Workload& workload : workloads) {
    rows.push_back({workload.digest(), workload.ToText(), workload.Summary()});
  }
  return rows;
}

}  // namespace

Result<Submitted> JobAdmission::Submit(const Submission& request, const Caller& caller) {
  return Admit(request, caller, [&] { return ParseJobRequest(request); });
}

Result<Submitted> JobAdmission::SubmitUserKernel(const KernelSubmission& request,
                                                 const Caller& caller) {
  // As the policy of calls has it: whatever way a request came, it brings code.
  if (!caller.Has(Role::kAdmin)) {
    return Status(StatusCode::kPermissionDenied, caller.ToText() +
                                                     " may not submit user-supplied kernels: it "
                                                     "requires the role admin");
  }
  return Admit(request.job, caller, [&] { return ParseUserKernelRequest(request); });
}

Status JobAdmission::Admitted(const Status& status) const {
  if (!status.ok()) context_.metrics().AddRejected("quota");
  return status;
}

// A job that `parse` reads from the request, once the quotas let it in.
Result<Submitted> JobAdmission::Admit(const Submission& request, const Caller& caller,
                                      const Parse& parse) {
  const std::string owner = MLC_TRY(OwnerOf(request, caller));
  // How many of its trials are new is known later.
  const Asked asked{0, static_cast<int64_t>(request.tasks.size()), request.bytes};
  Quotas quotas;
  {
    const MutexLock lock(tables_.mutex);
    quotas = tables_.quotas;
  }
  // Before the texts are parsed: what is too large costs nothing.
  MLC_TRY(Admitted(quotas.Admit(owner, Usage(), asked)));
  JobRequest job = MLC_TRY(parse());
  job.owner = owner;
  const MutexLock order(store_.knowledge);
  bool resumed = false;
  db::JobRow row = MLC_TRY(store_.RowFor(job, resumed));
  const bool joined = MLC_TRY(CheckQuotas(row, quotas, asked, job.options.trials));
  const Submitted reply{row.id.ToText(), resumed, joined};
  context_.logger().info("job={} {} by {}: {} tasks, {} trials{}", reply.job,
                         joined    ? "joined"
                         : resumed ? "resumed"
                                   : "submitted",
                         owner, row.tasks.size(), job.options.trials,
                         job.options.user_kernel.empty() ? "" : ", of a user-supplied kernel");
  context_.metrics().Add(joined ? Counter::kJobsJoined : Counter::kJobsSubmitted);
  if (joined && MLC_TRY(Join(row))) return reply;
  MLC_TRY(Kept(context_.metrics(), context_.log.PutJob(row, RowsOf(job.workloads))));
  MLC_TRY(Start(std::move(row)));
  return reply;
}

// Joining is free; trials beyond the running job are charged to the caller.
Result<bool> JobAdmission::CheckQuotas(const db::JobRow& row, const Quotas& quotas, Asked asked,
                                       int64_t trials) const {
  const MutexLock lock(tables_.mutex);
  if (tables_.draining) {
    context_.metrics().AddRejected("draining");
    return Unavailable("the server is draining: submit the job to its successor");
  }
  const auto running = tables_.jobs.find(row.id);
  const JobFacts* facts = running == tables_.jobs.end() ? nullptr : &tables_.Of(*running->second);
  const bool joined = facts != nullptr && !facts->ended;
  const int64_t there = joined ? facts->progress.trials_wanted : row.trials;
  asked.trials = std::max<int64_t>(0, trials - there);
  if (!joined || asked.trials > 0) {
    MLC_TRY(Admitted(quotas.Admit(row.owner, UsageOf(row.owner, row.id), asked)));
  }
  return joined;
}

// What follows a job is its own owner's.
Usage JobAdmission::UsageOf(const std::string& owner, const Digest& but) const {
  Usage usage;
  for (const auto& [id, job] : tables_.jobs) {
    const JobFacts& facts = tables_.Of(*job);
    if (facts.ended || id == but) continue;
    const bool mine = facts.row.owner == owner;
    const bool follows = facts.next && facts.next->owner == owner;
    const int64_t wanted = job->spec.options.trials;
    usage.running_jobs += mine || follows ? 1 : 0;
    if (mine) usage.queued_trials += std::max<int64_t>(0, wanted - facts.progress.trials);
    if (follows) {
      usage.queued_trials += std::max<int64_t>(0, facts.progress.trials_wanted - wanted);
    }
  }
  return usage;
}

// The same job is running: it goes on, and what the new request wants beyond it follows. False if
// it has just ended.
Result<bool> JobAdmission::Join(const db::JobRow& row) {
  const JobOptions asked = MLC_TRY(JobOptions::Parse(row.options));
  std::shared_ptr<RunningJob> job;
  {
    const MutexLock lock(tables_.mutex);
    const auto running = tables_.jobs.find(row.id);
    if (running == tables_.jobs.end()) return false;
    job = running->second;
    JobFacts& facts = tables_.Of(*job);
    if (facts.ended) return false;
    if (facts.row.owner == row.owner) {
      facts.row.priority = row.priority;
      tables_.UpdateShares(facts.row);
    }
    const bool is_ending = facts.stop != JobStop::kNo && !facts.next;
    if (is_ending || asked.trials > facts.progress.trials_wanted) {
      facts.next = row;
      facts.progress.trials_wanted = asked.trials;
    }
  }
  MLC_TRY(store_.Save(*job));
  return true;
}

Status JobAdmission::Start(db::JobRow row) {
  const std::shared_ptr<RunningJob> job = MLC_TRY(store_.Open(std::move(row)));
  const MutexLock lock(tables_.mutex);
  tables_.Insert(job);
  queue_.Schedule(job);
  return Status();
}

void JobAdmission::SetQuotas(const Quotas& quotas) {
  const MutexLock lock(tables_.mutex);
  tables_.quotas = quotas;
  for (const auto& [id, job] : tables_.jobs) {
    const JobFacts& facts = tables_.Of(*job);
    if (!facts.ended) tables_.UpdateShares(facts.row);
  }
}

Status JobAdmission::Cancel(const std::string& id, const Caller& caller) {
  std::shared_ptr<RunningJob> job;
  {
    const MutexLock lock(tables_.mutex);
    job = tables_.FindJob(id);
    if (job != nullptr && tables_.Of(*job).ended) job = nullptr;
    if (job != nullptr) {
      JobFacts& facts = tables_.Of(*job);
      if (!caller.Owns(facts.row.owner)) return NotYours(id, facts.row.owner);
      if (facts.next && caller.Owns(facts.next->owner)) facts.next.reset();
      if (facts.stop == JobStop::kNo) facts.stop = JobStop::kCancelled;
      // In the log before the answer: no restart brings it back.
      facts.row.state = db::JobState::kCancelled;
    }
  }
  if (job == nullptr) return CancelInLog(id, caller);
  MLC_TRY(store_.Save(*job));
  context_.logger().info("job={} cancelled by {}", id, caller.ToText());
  queue_.Schedule(job);
  return Status();
}

// A job that does not run here: there is nothing to stop, but perhaps something to write down.
Status JobAdmission::CancelInLog(const std::string& id, const Caller& caller) const {
  db::JobRow row = MLC_TRY(store_.Row(id));
  if (!caller.Owns(row.owner)) return NotYours(id, row.owner);
  if (row.state == db::JobState::kCancelled) return Status();
  if (row.state != db::JobState::kRunning) {
    return NotFound("there is no running job " + id + ": it is " +
                    std::string(db::ToText(row.state)));
  }
  row.state = db::JobState::kCancelled;
  row.changed_us = context_.WallUs();
  return context_.log.PutJob(row);
}

}  // namespace mlc::server
