#include "server/tuner/tuner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/tuner/admin_holds.h"
#include "server/tuner/best_configs.h"
#include "server/tuner/canaries.h"
#include "server/tuner/dispatcher.h"
#include "server/tuner/job_admission.h"
#include "server/tuner/job_queries.h"
#include "server/tuner/job_runner.h"
#include "server/tuner/job_store.h"
#include "server/tuner/result_intake.h"
#include "server/tuner/search_threads.h"
#include "server/tuner/trial_checks.h"
#include "server/tuner/tuner_report.h"
#include "server/tuner/tuner_tables.h"
#include "server/tuner/worker_directory.h"
#include "server/tuner/worker_sessions.h"

namespace mlc::server {
namespace {

constexpr int64_t kRememberEndedMs = 60'000;

int ThreadsOf(const TunerOptions& options) { return std::max(1, options.search_threads); }

}  // namespace

// In the order in which they use each other.
struct Tuner::Parts {
  Parts(db::TuningLog& log, TunerOptions options) : context(log, std::move(options)) {}

  // Periodic work: expires leases and time budgets.
  void Tick() MLC_EXCLUDES(tables.mutex);

  TunerContext context;
  TunerTables tables{context.options};
  LogHealth log_health;
  SearchQueue queue{ThreadsOf(context.options)};
  WorkloadIndex workloads{context.log};
  BestConfigs best{context.log, workloads, context.options.untuned};
  WorkerSessions sessions{context, tables};
  AdminHolds holds{context, tables};
  WorkerDirectory workers{context, tables, queue};
  TunerReport report{context, workers};
  Canaries canaries{context, tables};
  Dispatcher dispatcher{context, tables, queue};
  TrialChecks checks{context, dispatcher, workers};
  ResultIntake intake{context, {tables, log_health, best, workers, dispatcher, checks, canaries}};
  JobStore store{context, tables, log_health};
  JobQueries queries{context, {tables, store, log_health, workers}};
  JobAdmission admission{context, tables, queue, store};
  JobRunner runner{context, {tables, queue, store, log_health, workloads, workers, dispatcher}};
  // Stopped first by the tuner's destructor.
  std::optional<SearchThreads> threads{std::in_place, context, queue, runner, [this] { Tick(); }};
};

void Tuner::Parts::Tick() {
  const MutexLock lock(tables.mutex);
  const int64_t now = context.NowMs();
  for (const Leases::Ended& ended : tables.leases.Expire(now)) {
    checks.GiveUp(tables, ended.uid, ended.why);
  }
  workers.Forget(tables);
  report.Report(tables);
  // The log answers for jobs that have ended.
  for (auto it = tables.jobs.begin(); it != tables.jobs.end();) {
    const JobFacts& facts = tables.Of(*it->second);
    const bool is_over = facts.ended && now - facts.ended_ms > kRememberEndedMs;
    it = is_over ? tables.jobs.erase(it) : std::next(it);
  }
  tables.ScheduleAll(queue);
}

Tuner::Tuner(db::TuningLog& log, TunerOptions options)
    : parts_(std::make_unique<Parts>(log, std::move(options))) {}

Tuner::~Tuner() {
  parts_->threads.reset();
  // Callbacks of queued commits refer to the parts.
  (void)parts_->context.log.Flush();
}

Status Tuner::Start() {
  MLC_TRY(parts_->holds.Restore());
  if (parts_->context.options.resume_jobs) MLC_TRY(parts_->admission.Resume());
  parts_->threads->Start(ThreadsOf(parts_->context.options));
  return Status();
}

Result<Submitted> Tuner::Submit(const Submission& request, const Caller& caller) {
  return parts_->admission.Submit(request, caller);
}

Result<Submitted> Tuner::SubmitUserKernel(const KernelSubmission& request, const Caller& caller) {
  return parts_->admission.SubmitUserKernel(request, caller);
}

Status Tuner::Cancel(const std::string& job, const Caller& caller) {
  return parts_->admission.Cancel(job, caller);
}

Result<JobProgress> Tuner::Progress(const std::string& job) const {
  return parts_->queries.Progress(job);
}

Result<JobDescription> Tuner::Describe(const std::string& job) const {
  return parts_->queries.Describe(job);
}

Result<std::vector<JobSummary>> Tuner::List(int32_t limit) const {
  return parts_->queries.List(limit);
}

Result<BestAnswer> Tuner::Best(const BestQuestion& question) const {
  return parts_->best.Find(question);
}

void Tuner::Synchronize(WorkerCall request, Reply reply, const std::string& owner) {
  parts_->intake.Synchronize(std::move(request), std::move(reply), owner);
}

int64_t Tuner::OpenSession(const std::string& worker, const std::string& incarnation,
                           std::function<void()> wake, std::function<void()> disconnect) {
  return parts_->sessions.Open(worker, incarnation, std::move(wake), std::move(disconnect));
}

void Tuner::Disconnected(int64_t id) { parts_->sessions.Disconnected(id); }

void Tuner::DisconnectSessions() { parts_->sessions.DisconnectAll(); }

std::vector<WorkerLine> Tuner::ListWorkers() const { return parts_->workers.List(); }

LiveState Tuner::Live() const { return parts_->workers.Live(); }

Status Tuner::SetAdminHold(const std::string& worker, AdminHoldKind hold,
                           const std::string& reason) {
  return parts_->holds.Set(worker, hold, reason);
}

Demand Tuner::WorkDemand() const { return parts_->workers.WorkDemand(); }

void Tuner::SetUnservedNeeds(const std::vector<Needs>& needs) {
  parts_->workers.SetUnservedNeeds(needs);
}

Status Tuner::LogStatus() const { return parts_->log_health.status(); }

void Tuner::SetQuotas(const Quotas& quotas) { parts_->admission.SetQuotas(quotas); }

Metrics& Tuner::metrics() const { return parts_->context.metrics(); }

TunerCounts Tuner::Count() const {
  const MutexLock lock(parts_->tables.mutex);
  return TunerReport::Count(parts_->tables);
}

void Tuner::RecordRefusal(const std::string& worker, std::optional<Digest> uid,
                          const std::string& why) const {
  parts_->intake.RecordRefusal(worker, uid, why);
}

void Tuner::Drain(int64_t timeout_ms) { parts_->dispatcher.Drain(timeout_ms); }

}  // namespace mlc::server
