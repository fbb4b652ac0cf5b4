// How the run of a job ends: done, stopped or failed, and what follows it.
#include <spdlog/spdlog.h>

#include <utility>

#include "base/contain.h"
#include "server/tuner/job_runner.h"
#include "server/tuner/timing_lock.h"

namespace mlc::server {
namespace {

bool IsLogError(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kDataLoss;
}

}  // namespace

void JobRunner::End(RunningJob& job) {
  JobStop stop = JobStop::kNo;
  {
    const MutexLock lock(tables_.mutex);
    stop = tables_.Of(job).stop;
  }
  std::vector<SavedModel> models;
  // A job that may go on later must find the models it started from.
  Status status;
  if (stop == JobStop::kNo || stop == JobStop::kTimeOver) {
    status = Contain([&] {
      const TimingLock quiet(context_.options.timing_lock);
      models = job.run->strategy().Models();
      return Status();
    });
  }
  if (status.ok()) status = store_.SaveModels(job.spec, std::move(models));
  const std::string how = NameEnd(job, stop, job.run->WhyEarly());
  if (status.ok()) status = store_.Save(job);
  if (!status.ok()) return Fail(job, status);
  context_.logger().info("job={} {}", job.spec.id.ToText(), how);
  Finish(job);
}

// Gives the job its final state; returns it for the log. `early`: why the search ended by itself.
std::string JobRunner::NameEnd(RunningJob& job, JobStop stop, std::string early) {
  const MutexLock lock(tables_.mutex);
  JobFacts& facts = tables_.Of(job);
  // It may have been cancelled just now; then the log says so already.
  const bool cancelled =
      facts.stop == JobStop::kCancelled || facts.row.state == db::JobState::kCancelled;
  facts.row.state = cancelled                    ? db::JobState::kCancelled
                    : stop == JobStop::kDraining ? db::JobState::kRunning
                                                 : db::JobState::kDone;
  const std::string abandoned = AbandonedText(facts);
  if (!abandoned.empty()) early += (early.empty() ? "" : "; ") + abandoned;
  if (facts.row.state == db::JobState::kDone) facts.progress.detail = early;
  return std::string(db::ToText(facts.row.state)) + ": " + std::to_string(facts.row.trials) +
         " trials" + (early.empty() ? "" : ", " + early);
}

// The job has ended, as its row in the log says. What was asked for meanwhile follows.
void JobRunner::Finish(RunningJob& job) {
  // Destroyed after the mutex is released.
  const std::unique_ptr<JobRun> over = std::move(job.run);
  std::optional<db::JobRow> next;
  {
    const MutexLock lock(tables_.mutex);
    JobFacts& facts = tables_.Of(job);
    if (!tables_.draining) next = std::exchange(facts.next, std::nullopt);
    if (!next) return Close(job, facts.row.state);
  }
  const Result<std::shared_ptr<RunningJob>> follower = store_.Open(*std::move(next));
  const MutexLock lock(tables_.mutex);
  JobFacts& facts = tables_.Of(job);
  if (!follower.ok()) {
    facts.progress.detail = follower.status().message();
    return Close(job, db::JobState::kFailed);
  }
  tables_.Of(**follower).next = std::exchange(facts.next, std::nullopt);
  Close(job, db::JobState::kRunning);
  tables_.Insert(*follower);
  queue_.Schedule(*follower);
}

void JobRunner::Close(RunningJob& job, db::JobState state) {
  JobFacts& facts = tables_.Of(job);
  facts.ended = true;
  facts.ended_ms = context_.NowMs();
  tables_.leases.shares().Remove(job.spec.id);
  facts.progress.state = state;
  facts.progress.elapsed_s = static_cast<double>(facts.ended_ms - facts.started_ms) / 1000;
}

// A full disk is no fault of the job: it waits for space, as results do.
void JobRunner::Fail(RunningJob& job, const Status& status) {
  context_.logger().error("job={}: {}", job.spec.id.ToText(), status.ToString());
  if (IsLogError(status)) log_health_.Set(status);
  std::unique_ptr<JobRun> over;
  {
    const MutexLock lock(tables_.mutex);
    JobFacts& facts = tables_.Of(job);
    facts.caught_up = false;
    if (status.code() == StatusCode::kResourceExhausted) return;
    dispatcher_.DropAll(tables_, job.spec.id);
    facts.row.state = db::JobState::kFailed;
    facts.row.detail = status.message();
    facts.progress.detail = status.message();
    facts.next.reset();
    Close(job, db::JobState::kFailed);
    over = std::move(job.run);
  }
  (void)store_.Save(job);
}

}  // namespace mlc::server
