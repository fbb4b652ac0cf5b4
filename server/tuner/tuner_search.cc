// The search threads: the only ones that touch a JobRun, and the only ones that compute for long.
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/contain.h"
#include "server/jobs/crash_marker.h"
#include "server/tuner/timing_lock.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {
namespace {

// Leases and time budgets are looked at this often when nothing else happens.
constexpr std::chrono::milliseconds kTick(200);
// A job's row is written so often while it runs.
constexpr int64_t kSaveEveryMs = 10'000;
constexpr int64_t kRememberEndedMs = 60'000;

}  // namespace

// Jobs take their steps in the order in which something new came for them; a thread takes the next
// one whenever it is free, and no job is on two threads.
void Tuner::SearchLoop() {
  // On Linux, of this thread alone.
  if (options_.search_nice > 0) {
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.search_nice);
  }
  const SignalStack stack;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (SteadyMs() >= next_tick_ms_) Tick();
    const auto next = NextDue();
    if (next == due_.end()) {
      wake_.wait_for(lock, kTick, [this] { return stopping_ || NextDue() != due_.end(); });
      continue;
    }
    const std::shared_ptr<Job> job = std::move(*next);
    due_.erase(next);
    job->turn = Turn::kStepping;
    const bool over = job->ended;
    const int begins = job->run == nullptr ? 1 : 0;
    beginning_ += begins;
    lock.unlock();
    if (!over) {
      const ScopedCrashJob at_work(job->row.id);
      Step(job);
    }
    lock.lock();
    beginning_ -= begins;
    const bool again = job->turn == Turn::kSteppingAndDue;
    job->turn = Turn::kIdle;
    if (again) Schedule(job);
  }
}

// Jobs come in the order in which they became due; but the start of a search takes long, and where
// all threads make starts, the workers of the other jobs run out of trials. REQUIRES mutex_.
std::deque<std::shared_ptr<Tuner::Job>>::iterator Tuner::NextDue() {
  const int most = std::max(1, options_.search_threads / 2);
  return std::find_if(due_.begin(), due_.end(), [&](const std::shared_ptr<Job>& job) {
    return job->run != nullptr || job->ended || beginning_ < most;
  });
}

// Queues the job for a search thread. REQUIRES mutex_.
void Tuner::Schedule(const std::shared_ptr<Job>& job) {
  if (job->turn == Turn::kStepping) job->turn = Turn::kSteppingAndDue;
  if (job->turn != Turn::kIdle || job->ended) return;
  job->turn = Turn::kDue;
  due_.push_back(job);
  wake_.notify_one();
}

// REQUIRES mutex_.
void Tuner::ScheduleAll() {
  for (const auto& [id, job] : jobs_) Schedule(job);
}

// Periodic work: expires leases and time budgets. REQUIRES mutex_.
void Tuner::Tick() {
  const int64_t now = SteadyMs();
  next_tick_ms_ = now + kTick.count();
  ExpireLeases();
  ForgetWorkers();
  Report();
  // The log answers for jobs that have ended.
  std::erase_if(jobs_, [&](const auto& entry) {
    return entry.second->ended && now - entry.second->ended_ms > kRememberEndedMs;
  });
  ScheduleAll();
}

// Whether results may come whose trials are about to be proposed again. REQUIRES mutex_.
bool Tuner::CatchingUp() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
    const Job& job = *entry.second;
    return !job.ended && !job.caught_up && targets_.contains(job.target_class);
  });
}

// REQUIRES mutex_.
void Tuner::ExpireLeases() {
  for (const Leases::Ended& ended : leases_.Expire(SteadyMs())) AbandonTrial(ended.uid, ended.why);
}

void Tuner::Step(const std::shared_ptr<Job>& job) {
  if (job->run == nullptr && !BeginRun(*job)) return;
  std::vector<std::pair<Digest, Measurement>> results;
  {
    std::lock_guard lock(mutex_);
    const int64_t spent = job->row.spent_ms + SteadyMs() - job->started_ms;
    if (job->options.time_budget_ms > 0 && job->stop == Stop::kNo &&
        spent > job->options.time_budget_ms) {
      job->stop = Stop::kTimeOver;
    }
    results.swap(job->inbox);
    if (results.empty() && job->stop == Stop::kNo && job->caught_up) return;
  }
  for (const auto& [uid, measurement] : results) {
    (void)job->run->Record(uid, measurement, /*replayed=*/false);
  }
  ApplyStop(*job);
  const Result<bool> replayed = FeedResults(job);
  if (!replayed.ok()) return Fail(*job, replayed.status());
  bool is_old = false;
  Publish(*job);
  {
    std::lock_guard lock(mutex_);
    job->caught_up = !*replayed;
    is_old = SteadyMs() - job->saved_ms > kSaveEveryMs;
    if (*replayed) Schedule(job);
  }
  if (job->run->Finished()) return End(*job);
  // Not for the job's sake, which would find its way without, but for those who ask after it.
  if (is_old) (void)Save(*job);
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

// Proposes until enough batches wait for workers. Trials that the log has are answered from it:
// true if there were some, and the job has to be looked at again. A long past leaves others their
// turns.
Result<bool> Tuner::FeedResults(const std::shared_ptr<Job>& job) {
  std::vector<Trial> trials;
  MLC_TRY(Contain([&] {
    TimingLock quiet(options_.timing_lock);
    trials = job->run->Advance();
    return Status();
  }));
  bool replayed = false;
  trials = Lookup(*job, std::move(trials), replayed);
  std::vector<Claim> claims = ClaimsOn(*job, trials);
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < trials.size(); ++i) {
    Trial& trial = trials[i];
    if (!leases_.Add(AskFor(*job, trial, claims[i]))) continue;
    pending_[trial.uid] = {job, std::move(trial.proposal), SteadyMs(), 0, std::move(claims[i])};
  }
  if (!trials.empty()) WakeWorkers(job->target_class);
  return replayed;
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

void Tuner::Publish(Job& job) {
  const JobRun& run = *job.run;
  proto::JobProgress now;
  for (const TaskProgress& known : run.strategy().Progress()) {
    proto::TaskProgress& task = *now.add_tasks();
    task.set_trials(known.trials);
    task.set_best_ns(known.best_ns);
    task.set_default_ns(known.default_ns);
    task.set_best_config(known.best ? known.best->ToText() : std::string());
    task.set_done(known.done);
    task.set_prior_config(known.prior_config ? known.prior_config->ToText() : std::string());
    task.set_estimate_ns(known.estimate_ns);
  }
  std::lock_guard lock(mutex_);
  job.row.trials = run.learned();
  job.progress.set_trials(run.recorded());
  job.progress.set_replayed(run.replayed());
  job.progress.clear_outcomes();
  for (int64_t count : run.outcomes()) job.progress.add_outcomes(count);
  for (int i = 0; i < now.tasks_size(); ++i) {
    job.progress.mutable_tasks(i)->Swap(now.mutable_tasks(i));
  }
}

}  // namespace mlc::server
