#include "server/tuner/job_runner.h"

#include <utility>

#include "base/contain.h"
#include "server/tuner/claims.h"
#include "server/tuner/timing_lock.h"

namespace mlc::server {
namespace {

// A job's row is written so often while it runs.
constexpr int64_t kSaveEveryMs = 10'000;

}  // namespace

JobRunner::JobRunner(const TunerContext& context, Parts parts)
    : context_(context),
      tables_(parts.tables),
      queue_(parts.queue),
      store_(parts.store),
      log_health_(parts.log_health),
      workloads_(parts.workloads),
      workers_(parts.workers),
      dispatcher_(parts.dispatcher) {}

void JobRunner::Step(const std::shared_ptr<RunningJob>& job) {
  {
    const MutexLock lock(tables_.mutex);
    if (tables_.Of(*job).ended) return;
  }
  if (job->run == nullptr && !Begin(*job)) return;
  const std::optional<Results> results = TakeResults(*job);
  if (!results) return;
  for (const auto& [uid, measurement] : *results) {
    (void)job->run->Record(uid, measurement, /*replayed=*/false);
  }
  ApplyStop(*job);
  const Result<bool> replayed = Advance(job);
  if (!replayed.ok()) return Fail(*job, replayed.status());
  bool is_old = false;
  Publish(*job);
  {
    const MutexLock lock(tables_.mutex);
    JobFacts& facts = tables_.Of(*job);
    facts.caught_up = !*replayed;
    is_old = context_.NowMs() - facts.saved_ms > kSaveEveryMs;
  }
  if (*replayed) queue_.Schedule(job);
  if (job->run->Finished()) return End(*job);
  // Not for the job's sake, which would find its way without, but for those who ask after it.
  if (is_old) (void)store_.Save(*job);
}

// What came since the last step; none if there is nothing to do.
std::optional<JobRunner::Results> JobRunner::TakeResults(RunningJob& job) {
  const MutexLock lock(tables_.mutex);
  JobFacts& facts = tables_.Of(job);
  const int64_t budget_ms = job.spec.options.time_budget_ms;
  const int64_t spent_ms = facts.row.spent_ms + context_.NowMs() - facts.started_ms;
  if (budget_ms > 0 && facts.stop == JobStop::kNo && spent_ms > budget_ms) {
    facts.stop = JobStop::kTimeOver;
  }
  Results results = std::exchange(facts.inbox, {});
  if (results.empty() && facts.stop == JobStop::kNo && facts.caught_up) return std::nullopt;
  return results;
}

void JobRunner::ApplyStop(RunningJob& job) {
  std::vector<Digest> dropped;
  {
    const MutexLock lock(tables_.mutex);
    if (tables_.Of(job).stop == JobStop::kNo) return;
    dropped = dispatcher_.DropQueued(tables_, job.spec.id);
  }
  job.run->Stop();
  for (const Digest& uid : dropped) job.run->Drop(uid);
}

// Proposes until enough batches wait for workers. Trials that the log has are answered from it:
// true if there were some, and the job has to be looked at again. A long past leaves others their
// turns.
Result<bool> JobRunner::Advance(const std::shared_ptr<RunningJob>& job) {
  std::vector<Trial> trials;
  MLC_TRY(Contain([&] {
    const TimingLock quiet(context_.options.timing_lock);
    trials = job->run->Advance();
    return Status();
  }));
  bool replayed = false;
  trials = Replay(*job, std::move(trials), replayed);
  std::vector<Claim> claims = ClaimsOn(context_.log, job->spec, trials);
  dispatcher_.Queue(job, std::move(trials), std::move(claims));
  return replayed;
}

// Returns the trials that have to be run.
std::vector<Trial> JobRunner::Replay(RunningJob& job, std::vector<Trial> trials,
                                     bool& replayed) const {
  std::vector<Trial> missing;
  for (Trial& trial : trials) {
    const Result<std::optional<db::Record>> found = context_.log.Find(trial.uid);
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

void JobRunner::Publish(RunningJob& job) {
  const JobRun& run = *job.run;
  std::vector<TaskFigures> now;
  for (const TaskProgress& known : run.strategy().Progress()) {
    TaskFigures& task = now.emplace_back();
    task.trials = known.trials;
    task.best_ns = known.best_ns;
    task.default_ns = known.default_ns;
    task.best_config = known.best ? known.best->ToText() : std::string();
    task.done = known.done;
    task.prior_config = known.prior_config ? known.prior_config->ToText() : std::string();
    task.estimate_ns = known.estimate_ns;
  }
  const std::vector<int> under_way = run.UnderWay();
  for (size_t i = 0; i < now.size(); ++i) now[i].under_way = under_way[i];
  const MutexLock lock(tables_.mutex);
  JobFacts& facts = tables_.Of(job);
  facts.row.trials = run.learned();
  facts.progress.trials = run.recorded();
  facts.progress.replayed = run.replayed();
  facts.progress.outcomes.assign(run.outcomes().begin(), run.outcomes().end());
  // The old ones are destroyed after the mutex is released.
  now.resize(facts.progress.tasks.size());
  facts.progress.tasks.swap(now);
}

}  // namespace mlc::server
