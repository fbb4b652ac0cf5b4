#include "server/tuner.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/clock.h"
#include "server/protocol.h"

namespace mlc::server {
namespace {

constexpr int kMaxBestQueries = 10'000;
constexpr std::chrono::milliseconds kDrainPoll(10);

}  // namespace

Tuner::Tuner(db::TuningLog& log, TunerOptions options)
    : log_(log), options_(std::move(options)), started_ms_(SteadyMs()), leases_(options_.terms) {}

Tuner::~Tuner() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    news_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Callbacks of queued commits refer to this object.
  (void)log_.Flush();
}

Status Tuner::Start() {
  if (options_.resume_jobs) MLC_TRY(Resume());
  thread_ = std::thread([this] { SearchLoop(); });
  return Status();
}

Result<proto::SubmitJobReply> Tuner::Submit(const proto::SubmitJobRequest& request) {
  const JobRequest job = MLC_TRY(ParseJobRequest(request));
  for (const graph::Workload& workload : job.workloads) {
    MLC_TRY(log_.AddWorkload({workload.digest(), workload.ToText(), workload.Summary()}));
  }
  {
    std::lock_guard lock(mutex_);
    if (draining_) return Unavailable("the server is draining: submit the job to its successor");
  }
  bool resumed = false;
  db::JobRow row;
  {
    std::lock_guard order(knowledge_);
    row = MLC_TRY(RowFor(job, resumed));
    MLC_TRY(log_.PutJob(row));
  }
  proto::SubmitJobReply reply;
  reply.set_job(row.id.ToText());
  reply.set_resumed(resumed);
  options_.logger->info("job {} {}: {} tasks, {} trials", row.id.ToText(),
                        resumed ? "resumed" : "submitted", row.tasks.size(), job.options.trials);
  MLC_TRY(Admit(std::move(row)));
  return reply;
}

std::shared_ptr<Tuner::Job> Tuner::FindJob(const std::string& id) const {
  const Result<Digest> digest = Digest::Parse(id);
  if (!digest.ok()) return nullptr;
  const auto found = jobs_.find(*digest);
  return found == jobs_.end() ? nullptr : found->second;
}

Status Tuner::Cancel(const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    const std::shared_ptr<Job> job = FindJob(id);
    if (job == nullptr) return NotFound("there is no running job " + id);
    if (job->stop == Stop::kNo) job->stop = Stop::kCancelled;
    news_ = true;
  }
  wake_.notify_all();
  return Status();
}

Result<proto::JobProgress> Tuner::Progress(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<Job> job = FindJob(id);
  if (job == nullptr) return NotFound("there is no job " + id + " on this server");
  if (!trouble_.ok() && job->progress.state() != proto::DONE) {
    return trouble_.WithPrefix("results cannot be kept");
  }
  proto::JobProgress progress = job->progress;
  progress.set_workers(leases_.WorkersOf(job->target_class, SteadyMs()));
  if (!job->ended) {
    progress.set_elapsed_s(static_cast<double>(SteadyMs() - job->started_ms) / 1000);
  }
  return progress;
}

Result<proto::ListJobsReply> Tuner::List() const {
  proto::ListJobsReply reply;
  for (const db::JobRow& row : MLC_TRY(log_.Jobs())) {
    proto::JobSummary& summary = *reply.add_jobs();
    summary.set_job(row.id.ToText());
    summary.set_label(row.label);
    summary.set_state(static_cast<proto::JobState>(row.state));
    summary.set_trials(row.trials);
    summary.set_target(row.target);
    summary.set_created_us(row.created_us);
  }
  return reply;
}

Result<proto::BestReply> Tuner::Best(const proto::BestRequest& request) const {
  if (request.workloads_size() > kMaxBestQueries) {
    return InvalidArgument("at most " + std::to_string(kMaxBestQueries) + " workloads a call");
  }
  proto::BestReply reply;
  for (const std::string& text : request.workloads()) {
    const Digest key = MLC_TRY(Digest::Parse(text));
    proto::BestConfig& best = *reply.add_best();
    for (const db::Record& record : MLC_TRY(log_.Best(key, request.target(), 1))) {
      best.set_config(record.config);
      *best.mutable_measurement() = ToWire(record.measurement);
      best.set_record(ToWire(record.task_uid));
    }
  }
  return reply;
}

void Tuner::Drain(int64_t timeout_ms) {
  const int64_t deadline = SteadyMs() + timeout_ms;
  std::unique_lock lock(mutex_);
  draining_ = true;
  for (auto& [id, job] : jobs_) {
    if (job->stop == Stop::kNo) job->stop = Stop::kDraining;
  }
  news_ = true;
  wake_.notify_all();
  options_.logger->info("draining: {} trials under way", leases_.leased() + leases_.received());
  while (leases_.leased() + leases_.received() > 0 && SteadyMs() < deadline) {
    lock.unlock();
    std::this_thread::sleep_for(kDrainPoll);
    lock.lock();
  }
}

}  // namespace mlc::server
