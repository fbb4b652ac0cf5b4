#include "server/tuner/tuner.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/wire/protocol.h"
#include "server/jobs/job_progress.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {
namespace {

constexpr int64_t kListedJobs = 100;
constexpr int64_t kMostListedJobs = 10'000;
constexpr std::chrono::milliseconds kDrainPoll(10);

}  // namespace

Tuner::Tuner(db::TuningLog& log, TunerOptions options)
    : log_(log),
      options_(std::move(options)),
      started_ms_(SteadyMs()),
      workloads_(log),
      leases_(options_.terms),
      registry_(options_.health, options_.names, options_.terms.lease_ms),
      quotas_(options_.quotas) {}

Tuner::~Tuner() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  // Callbacks of queued commits refer to this object.
  (void)log_.Flush();
}

Status Tuner::Start() {
  MLC_TRY(RestoreAdminHolds());
  if (options_.resume_jobs) MLC_TRY(Resume());
  for (int i = 0; i < std::max(1, options_.search_threads); ++i) {
    threads_.emplace_back([this] { SearchLoop(); });
  }
  return Status();
}

// REQUIRES mutex_. Null for a job that neither runs here nor has just ended.
std::shared_ptr<Tuner::Job> Tuner::FindJob(const std::string& id) const {
  const Result<Digest> digest = Digest::Parse(id);
  if (!digest.ok()) return nullptr;
  const auto found = jobs_.find(*digest);
  return found == jobs_.end() ? nullptr : found->second;
}

// REQUIRES mutex_.
double Tuner::GpuBusy(const std::string& target_class) const {
  double trial_s = 0, busy_s = 0;
  for (const auto& [name, info] : registry_.workers) {
    if (info.offer.target_class != target_class) continue;
    if (SteadyMs() - info.called_ms > options_.terms.lease_ms) continue;
    trial_s += std::max(0.0, info.use.trial_s());
    busy_s += std::max(0.0, info.use.busy_s());
  }
  // A worker may tell anything.
  return trial_s > 0 ? std::min(1.0, busy_s / trial_s) : 0;
}

Result<db::JobRow> Tuner::RowInLog(const std::string& id) const {
  const Result<Digest> digest = Digest::Parse(id);
  std::optional<db::JobRow> row;
  if (digest.ok()) row = MLC_TRY(log_.FindJob(*digest));
  if (!row) return NotFound("there is no job " + id + " on this server");
  return *std::move(row);
}

Result<proto::JobProgress> Tuner::Progress(const std::string& id) const {
  {
    std::lock_guard lock(mutex_);
    if (const std::shared_ptr<Job> job = FindJob(id)) {
      if (!log_status_.ok() && job->progress.state() != proto::DONE) {
        return log_status_.WithPrefix("results cannot be kept");
      }
      proto::JobProgress progress = job->progress;
      progress.set_workers(leases_.WorkersOf(job->target_class, SteadyMs()));
      progress.set_gpu_busy(GpuBusy(job->target_class));
      progress.set_detail(DetailOf(*job));
      if (!job->ended) {
        progress.set_elapsed_s(static_cast<double>(SteadyMs() - job->started_ms) / 1000);
      }
      return progress;
    }
  }
  return ProgressFrom(MLC_TRY(RowInLog(id)));
}

Result<proto::JobDescription> Tuner::Describe(const std::string& id) const {
  const db::JobRow row = MLC_TRY(RowInLog(id));
  proto::JobDescription description;
  *description.mutable_summary() = SummaryNow(row);
  const JobOptions options = MLC_TRY(JobOptions::Parse(row.options));
  description.mutable_options()->set_trials(options.trials);
  description.mutable_options()->set_seed(options.seed);
  description.mutable_options()->set_fresh(!options.use_history);
  description.mutable_options()->set_time_budget_ms(options.time_budget_ms);
  description.mutable_options()->set_batch(options.batch);
  description.mutable_options()->set_priority(row.priority);
  for (const db::JobTask& task : row.tasks) {
    proto::Task& wire = *description.add_tasks();
    const std::optional<db::WorkloadRow> workload = MLC_TRY(log_.FindWorkload(task.workload));
    if (!workload) return DataLoss("the log lacks workload " + task.workload.ToText());
    wire.set_workload(workload->text);
    wire.set_occurrences(task.occurrences);
    wire.set_label(task.label);
  }
  for (const JobVariant& variant : options.variants) {
    description.add_variants()->set_name(variant.name);
    const auto tasks =
        std::min<int>(description.tasks_size(), static_cast<int>(variant.uses.size()));
    for (int i = 0; i < tasks; ++i) {
      description.mutable_tasks(i)->add_uses(variant.uses[static_cast<size_t>(i)]);
    }
  }
  return description;
}

// A running job has moved since its row was written.
proto::JobSummary Tuner::SummaryNow(const db::JobRow& row) const {
  proto::JobSummary summary = SummaryOf(row);
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(row.id);
  if (found == jobs_.end() || found->second->ended) return summary;
  const Job& job = *found->second;
  summary.set_state(proto::RUNNING);
  summary.set_priority(job.row.priority);
  summary.set_trials(job.progress.trials());
  summary.set_trials_wanted(job.progress.trials_wanted());
  summary.set_detail(DetailOf(job));
  return summary;
}

Result<proto::ListJobsReply> Tuner::List(const proto::ListJobsRequest& request) const {
  const int64_t limit =
      request.limit() > 0 ? std::min<int64_t>(request.limit(), kMostListedJobs) : kListedJobs;
  proto::ListJobsReply reply;
  std::set<Digest> listed;
  for (const db::JobQuery& query :
       {db::JobQuery{.state = db::JobState::kRunning, .with_tasks = false},
        db::JobQuery{.state = {}, .limit = limit, .with_tasks = false}}) {
    for (const db::JobRow& row : MLC_TRY(log_.Jobs(query))) {
      if (listed.insert(row.id).second) *reply.add_jobs() = SummaryNow(row);
    }
  }
  std::stable_sort(reply.mutable_jobs()->begin(), reply.mutable_jobs()->end(),
                   [](const proto::JobSummary& a, const proto::JobSummary& b) {
                     return a.created_us() > b.created_us();
                   });
  return reply;
}

Status Tuner::LogStatus() const {
  std::lock_guard lock(mutex_);
  return log_status_;
}

void Tuner::Drain(int64_t timeout_ms) {
  const int64_t deadline = SteadyMs() + timeout_ms;
  std::unique_lock lock(mutex_);
  draining_ = true;
  for (auto& [id, job] : jobs_) {
    if (job->stop == Stop::kNo) job->stop = Stop::kDraining;
  }
  ScheduleAll();
  const auto under_way = [this] {
    // A result that waits for a second measurement stays with its worker, which sends it again.
    const auto in_doubt = std::count_if(registry_.checks.begin(), registry_.checks.end(),
                                        [](const auto& entry) { return entry.second.confirms; });
    return leases_.leased() + leases_.received() - in_doubt;
  };
  options_.logger->info("draining: {} trials under way", under_way());
  while (under_way() > 0 && SteadyMs() < deadline) {
    lock.unlock();
    std::this_thread::sleep_for(kDrainPoll);
    lock.lock();
  }
}

}  // namespace mlc::server
