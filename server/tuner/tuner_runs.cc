// How the run of a job begins and ends.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/contain.h"
#include "server/jobs/search_input.h"
#include "server/search/user_kernel_strategy.h"
#include "server/tuner/timing_lock.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {
namespace {

// No honest kernel is faster than its arithmetic at this many times the calibrated peak: algorithms
// that save multiplications, and an unluckily low calibration, stay well below it.
constexpr double kPeakMargin = 16;

// A GPU times faster than a machine compiles: more trials under way keep the compilers at work
// while the slowest build of the oldest batch is awaited. Small batches, since each waits for its
// slowest.
constexpr int kGpuBatchesInFlight = 4;

// A CPU starts at least so many multiply-adds of full width per ns and core.
constexpr double kSlowestClockGhz = 2;

// A calibration that others disturbed is too low: it must not refuse honest times.
double FloorNs(double flops, const target::Target& target) {
  double peak = target.fma_gflops;
  if (peak <= 0) return 0;
  if (const auto* cpu = target.As<target::CpuTarget>()) {
    peak = std::max(peak, 2.0 * cpu->threads * cpu->Lanes(DType::kF32) * kSlowestClockGhz);
  }
  return flops / (peak * kPeakMargin);
}

bool IsLogError(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kDataLoss;
}

}  // namespace

// Ends a job that has nothing under way. True if it was stopped.
bool Tuner::EndBeforeRun(Job& job) {
  {
    std::lock_guard lock(mutex_);
    if (job.stop == Stop::kNo) return false;
    if (job.stop != Stop::kDraining) job.row.state = db::JobState::kCancelled;
  }
  (void)Save(job);
  FinishJob(job);
  return true;
}

// The first worker's calibrated figures become the job's, for this run and all later ones. REQUIRES
// mutex_. False while there is no worker.
bool Tuner::Calibrate(Job& job) {
  const auto worker = targets_.find(job.target_class);
  if (worker == targets_.end()) {
    job.progress.set_detail(WaitsFor(LeastNeeds(job)));
    return false;
  }
  Result<target::Target> target = target::Target::Parse(job.row.target);
  if (target.ok() && target->fma_gflops == 0) {
    job.row.target = worker->second;
    target = target::Target::Parse(job.row.target);
  }
  job.memory_bytes.assign(job.bytes.begin(), job.bytes.end());
  for (size_t i = 0; target.ok() && i < job.flops.size(); ++i) {
    job.floors_ns[i] = FloorNs(job.flops[i], *target);
  }
  job.progress.set_target(job.row.target);
  job.progress.clear_detail();
  // Neither time for which no worker was there.
  if (!job.has_begun) job.started_ms = SteadyMs();
  job.has_begun = true;
  return true;
}

// False while the job cannot start yet, or at all.
bool Tuner::BeginRun(Job& job) {
  if (EndBeforeRun(job)) return false;
  db::JobRow row;
  {
    std::lock_guard lock(mutex_);
    if (!Calibrate(job)) return false;
    row = job.row;
  }
  Status status = Save(job);
  if (status.ok()) status = Contain([&] { return OpenSearch(job, row); });
  if (!status.ok()) Fail(job, status);
  return status.ok();
}

// What the log knows for the job, and the spaces of its tasks.
Status Tuner::OpenSearch(Job& job, const db::JobRow& row) {
  SearchInput input = MLC_TRY(SearchInputOf(log_, workloads_, row));
  std::optional<schedule::Config> user_kernel;
  if (!job.options.user_kernel.empty()) {
    user_kernel = MLC_TRY(schedule::Config::Parse(job.options.user_kernel));
  }
  JobRun::Plan plan;
  plan.job_id = row.id;
  plan.target_class = job.target_class;
  plan.trials = job.options.trials;
  plan.batch = job.options.batch;
  if (input.target.As<target::GpuTarget>() != nullptr) plan.in_flight = kGpuBatchesInFlight;
  for (const db::JobTask& task : row.tasks) plan.workloads.push_back(task.workload);
  TimingLock quiet(options_.timing_lock);
  job.run = std::make_unique<JobRun>(
      std::move(plan), user_kernel ? MakeUserKernelStrategy(input, *std::move(user_kernel))
                                   : options_.strategy(std::move(input)));
  return Status();
}

void Tuner::End(Job& job) {
  Stop stop = Stop::kNo;
  {
    std::lock_guard lock(mutex_);
    stop = job.stop;
  }
  std::vector<SavedModel> models;
  std::string early = job.run->WhyEarly();
  // A job that may go on later must find the models it started from.
  Status status;
  if (stop == Stop::kNo || stop == Stop::kTimeOver) {
    status = Contain([&] {
      TimingLock quiet(options_.timing_lock);
      models = job.run->strategy().Models();
      return Status();
    });
  }
  if (status.ok()) status = SaveModels(job, std::move(models));
  std::string how;
  {
    std::lock_guard lock(mutex_);
    // It may have been cancelled just now; then the log says so already.
    const bool cancelled =
        job.stop == Stop::kCancelled || job.row.state == db::JobState::kCancelled;
    job.row.state = cancelled                 ? db::JobState::kCancelled
                    : stop == Stop::kDraining ? db::JobState::kRunning
                                              : db::JobState::kDone;
    const std::string abandoned = AbandonedText(job);
    if (!abandoned.empty()) early += (early.empty() ? "" : "; ") + abandoned;
    if (job.row.state == db::JobState::kDone) job.progress.set_detail(early);
    how = std::string(db::ToText(job.row.state)) + ": " + std::to_string(job.row.trials) +
          " trials" + (early.empty() ? "" : ", " + early);
  }
  if (status.ok()) status = Save(job);
  if (!status.ok()) return Fail(job, status);
  options_.logger->info("job={} {}", job.row.id.ToText(), how);
  FinishJob(job);
}

// The job has ended, as its row in the log says. What was asked for meanwhile follows.
void Tuner::FinishJob(Job& job) {
  // Destroyed after the mutex is released.
  const std::unique_ptr<JobRun> over = std::move(job.run);
  std::optional<db::JobRow> next;
  {
    std::lock_guard lock(mutex_);
    if (!draining_) next = std::exchange(job.next, std::nullopt);
    if (!next) return Close(job, static_cast<proto::JobState>(job.row.state));
  }
  Result<std::shared_ptr<Job>> follower = JobOf(*std::move(next));
  std::lock_guard lock(mutex_);
  if (!follower.ok()) {
    job.progress.set_detail(follower.status().message());
    return Close(job, proto::FAILED);
  }
  (*follower)->next = std::exchange(job.next, std::nullopt);
  Close(job, proto::RUNNING);
  UpdateShares((*follower)->row);
  jobs_[job.row.id] = *follower;
  Schedule(*follower);
}

// REQUIRES mutex_.
void Tuner::Close(Job& job, proto::JobState state) {
  job.ended = true;
  job.ended_ms = SteadyMs();
  leases_.shares().Remove(job.row.id);
  job.progress.set_state(state);
  job.progress.set_elapsed_s(static_cast<double>(job.ended_ms - job.started_ms) / 1000);
}

// A full disk is no fault of the job: it waits for space, as results do.
void Tuner::Fail(Job& job, const Status& status) {
  options_.logger->error("job={}: {}", job.row.id.ToText(), status.ToString());
  db::JobRow row;
  std::unique_ptr<JobRun> over;
  {
    std::lock_guard lock(mutex_);
    if (IsLogError(status)) log_status_ = status;
    job.caught_up = false;
    if (status.code() == StatusCode::kResourceExhausted) return;
    for (const Digest& uid : leases_.DropAll(job.row.id)) pending_.erase(uid);
    job.row.state = db::JobState::kFailed;
    job.row.detail = status.message();
    job.progress.set_detail(status.message());
    job.next.reset();
    Close(job, proto::FAILED);
    over = std::move(job.run);
  }
  (void)Save(job);
}

}  // namespace mlc::server
