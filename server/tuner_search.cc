// The search thread: the only one that touches a JobRun, and the only one that computes for long.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/clock.h"
#include "server/history.h"
#include "server/timing_lock.h"
#include "server/tuner.h"

namespace mlc::server {
namespace {

// Leases and time budgets are looked at this often when nothing else happens.
constexpr std::chrono::milliseconds kTick(200);

// No honest kernel is faster than its arithmetic at this many times the calibrated peak: algorithms
// that save multiplications, and an unluckily low calibration, stay well below it.
constexpr double kPeakMargin = 16;

// A processor starts at least so many multiply-adds of full width per ns and core.
constexpr double kSlowestClockGhz = 2;

// A calibration that others disturbed is too low: it must not refuse honest times.
double FloorNs(const graph::Workload& workload, const target::Target& target) {
  double peak = target.fma_gflops;
  if (peak <= 0) return 0;
  if (!target.is_cuda()) {
    peak = std::max(peak, 2.0 * target.threads * target.Lanes(DType::kF32) * kSlowestClockGhz);
  }
  return workload.Flops() / (peak * kPeakMargin);
}

bool IsTroubleOfTheLog(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kDataLoss;
}

}  // namespace

void Tuner::SearchLoop() {
  while (true) {
    std::vector<std::shared_ptr<Job>> running;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kTick, [this] { return news_; });
      news_ = false;
      if (stopping_) return;
      ExpireLeases();
      for (auto& [id, job] : jobs_) {
        if (!job->ended) running.push_back(job);
      }
    }
    for (const std::shared_ptr<Job>& job : running) Step(job);
  }
}

// REQUIRES mutex_.
void Tuner::ExpireLeases() {
  for (const Digest& uid : leases_.Expire(SteadyMs())) {
    Impossible(uid, "no worker could finish it");
  }
}

void Tuner::Step(const std::shared_ptr<Job>& job) {
  if (job->run == nullptr && !BeginRun(*job)) return;
  std::vector<std::pair<Digest, Measurement>> results;
  {
    std::lock_guard lock(mutex_);
    if (job->options.time_budget_ms > 0 && job->stop == Stop::kNo &&
        SteadyMs() - job->started_ms > job->options.time_budget_ms) {
      job->stop = Stop::kTimeOver;
    }
    results.swap(job->inbox);
  }
  for (const auto& [uid, measurement] : results) {
    (void)job->run->Record(uid, measurement, /*replayed=*/false);
  }
  ApplyStop(*job);
  Feed(job);
  {
    std::lock_guard lock(mutex_);
    Publish(*job);
  }
  if (job->run->Finished()) End(*job);
}

// Ends a job that has nothing under way. True if it was stopped.
bool Tuner::EndBeforeRun(Job& job) {
  db::JobRow row;
  {
    std::lock_guard lock(mutex_);
    if (job.stop == Stop::kNo) return false;
    job.ended = true;
    if (job.stop == Stop::kDraining) return true;
    job.progress.set_state(proto::CANCELLED);
    job.row.state = db::JobState::kCancelled;
    row = job.row;
  }
  (void)log_.PutJob(row);
  return true;
}

// The first worker's calibrated figures become the job's, for this run and all later ones. REQUIRES
// mutex_. False while there is no worker.
bool Tuner::Calibrate(Job& job) {
  const auto worker = targets_.find(job.target_class);
  if (worker == targets_.end()) {
    job.progress.set_detail("waits for a worker of class: " + job.target_class);
    return false;
  }
  Result<target::Target> target = target::Target::Parse(job.row.target);
  if (target.ok() && target->fma_gflops == 0) {
    job.row.target = worker->second;
    target = target::Target::Parse(job.row.target);
  }
  for (size_t i = 0; target.ok() && i < job.workload_texts.size(); ++i) {
    job.floors_ns[i] = FloorNs(*graph::Workload::Parse(job.workload_texts[i]), *target);
  }
  job.progress.set_target(job.row.target);
  job.progress.clear_detail();
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
  Status status = log_.PutJob(row);
  Result<SearchInput> input = SearchInputOf(log_, row);
  if (status.ok()) status = input.status();
  if (!status.ok()) {
    Fail(job, status);
    return false;
  }
  JobRun::Plan plan;
  plan.study = row.id;
  plan.target_class = job.target_class;
  plan.trials = job.options.trials;
  plan.batch = job.options.batch;
  for (const db::JobTask& task : row.tasks) plan.workloads.push_back(task.workload);
  TimingLock quiet(options_.timing_lock);
  job.run = std::make_unique<JobRun>(std::move(plan), options_.strategy(*std::move(input)));
  return true;
}

void Tuner::ApplyStop(Job& job) {
  std::vector<Digest> dropped;
  {
    std::lock_guard lock(mutex_);
    if (job.stop == Stop::kNo) return;
    dropped = leases_.DropQueued(job.row.id);
    for (const Digest& uid : dropped) pending_.erase(uid);
  }
  job.run->Stop();
  for (const Digest& uid : dropped) job.run->Drop(uid);
}

// Proposes until two batches wait for workers. Trials that the log has are answered from it.
void Tuner::Feed(const std::shared_ptr<Job>& job) {
  bool again = true;
  while (again) {
    std::vector<Trial> trials;
    {
      TimingLock quiet(options_.timing_lock);
      trials = job->run->Advance();
    }
    again = false;
    trials = Lookup(*job, std::move(trials), again);
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (Trial& trial : trials) {
      if (!leases_.Add(trial.uid, job->row.id, job->target_class)) continue;
      pending_[trial.uid] = {job, std::move(trial.proposal)};
    }
    again = again && job->stop == Stop::kNo;
    if (again) Publish(*job);
  }
}

// Returns the trials that have to be run.
std::vector<Trial> Tuner::Lookup(Job& job, std::vector<Trial> trials, bool& replayed) {
  std::vector<Trial> missing;
  for (Trial& trial : trials) {
    const Result<std::optional<db::Record>> found = log_.Find(trial.uid);
    // A damaged record is no result: the trial is made again, and its new record is refused as a
    // duplicate, which `verify` explains.
    if (found.ok() && *found) {
      (void)job.run->Record(trial.uid, (**found).measurement, /*replayed=*/true);
      replayed = true;
    } else {
      missing.push_back(std::move(trial));
    }
  }
  return missing;
}

// REQUIRES mutex_.
void Tuner::Publish(Job& job) {
  const JobRun& run = *job.run;
  const std::vector<TaskProgress> tasks = run.strategy().Progress();
  job.progress.set_trials(run.recorded());
  job.progress.set_replayed(run.replayed());
  job.progress.clear_outcomes();
  for (int64_t count : run.outcomes()) job.progress.add_outcomes(count);
  for (size_t i = 0; i < tasks.size(); ++i) {
    proto::TaskProgress& task = *job.progress.mutable_tasks(static_cast<int>(i));
    task.set_trials(tasks[i].trials);
    task.set_best_ns(tasks[i].best_ns);
    task.set_default_ns(tasks[i].default_ns);
    task.set_best_config(tasks[i].best ? tasks[i].best->ToText() : std::string());
    task.set_done(tasks[i].done);
  }
}

void Tuner::End(Job& job) {
  Stop stop = Stop::kNo;
  {
    std::lock_guard lock(mutex_);
    stop = job.stop;
  }
  std::vector<SavedModel> models;
  // A job that may go on later must find the models it started from.
  if (stop == Stop::kNo || stop == Stop::kTimeOver) {
    TimingLock quiet(options_.timing_lock);
    models = job.run->strategy().Models();
  }
  Status status = SaveModels(job, std::move(models));
  db::JobRow row = job.row;
  row.trials = job.run->learned();
  row.state = stop == Stop::kDraining    ? db::JobState::kRunning
              : stop == Stop::kCancelled ? db::JobState::kCancelled
                                         : db::JobState::kDone;
  if (status.ok()) status = log_.PutJob(row);
  if (!status.ok()) return Fail(job, status);
  options_.logger->info("job {} {}: {} trials", row.id.ToText(), db::ToText(row.state), row.trials);
  std::lock_guard lock(mutex_);
  job.row = row;
  job.ended = true;
  job.run.reset();
  job.progress.set_state(static_cast<proto::JobState>(row.state));
  job.progress.set_elapsed_s(static_cast<double>(SteadyMs() - job.started_ms) / 1000);
}

void Tuner::Fail(Job& job, const Status& status) {
  options_.logger->error("job {} failed: {}", job.row.id.ToText(), status.ToString());
  db::JobRow row;
  {
    std::lock_guard lock(mutex_);
    (void)leases_.DropAll(job.row.id);
    job.row.state = db::JobState::kFailed;
    job.row.detail = status.message();
    job.ended = true;
    job.progress.set_state(proto::FAILED);
    job.progress.set_detail(status.message());
    if (IsTroubleOfTheLog(status)) trouble_ = status;
    row = job.row;
  }
  (void)log_.PutJob(row);
}

}  // namespace mlc::server
