// Runs the searches of jobs in steps: begins a search, passes results to it, takes its proposals,
// and ends it. Only this class uses JobRun, and only this class computes for long. The thread that
// took the job from SearchQueue makes its step; steps of different jobs run in parallel.
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "server/tuner/dispatcher.h"
#include "server/tuner/job_store.h"
#include "server/tuner/log_health.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"
#include "server/tuner/worker_directory.h"

namespace mlc::server {

class JobRunner {
 public:
  // Other parts of the tuner, borrowed.
  struct Parts {
    TunerTables& tables;
    SearchQueue& queue;
    JobStore& store;
    LogHealth& log_health;
    WorkloadIndex& workloads;
    WorkerDirectory& workers;
    Dispatcher& dispatcher;
  };
  JobRunner(const TunerContext& context, Parts parts);

  // REQUIRES: this thread took the job from the SearchQueue. Does nothing for a job that has ended.
  void Step(const std::shared_ptr<RunningJob>& job) MLC_EXCLUDES(tables_.mutex);

 private:
  using Results = std::vector<std::pair<Digest, Measurement>>;

  // job_begin.cc
  bool Begin(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  bool EndBeforeRun(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  bool Calibrate(RunningJob& job) MLC_REQUIRES(tables_.mutex);
  Status OpenSearch(RunningJob& job, const db::JobRow& row) const;
  // job_runner.cc
  std::optional<Results> TakeResults(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  void ApplyStop(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  Result<bool> Advance(const std::shared_ptr<RunningJob>& job) MLC_EXCLUDES(tables_.mutex);
  std::vector<Trial> Replay(RunningJob& job, std::vector<Trial> trials, bool& replayed) const;
  void Publish(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  // job_end.cc
  void End(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  std::string NameEnd(RunningJob& job, JobStop stop, std::string early) MLC_EXCLUDES(tables_.mutex);
  void Finish(RunningJob& job) MLC_EXCLUDES(tables_.mutex);
  void Close(RunningJob& job, db::JobState state) MLC_REQUIRES(tables_.mutex);
  void Fail(RunningJob& job, const Status& status) MLC_EXCLUDES(tables_.mutex);

  const TunerContext& context_;
  TunerTables& tables_;
  SearchQueue& queue_;
  JobStore& store_;
  LogHealth& log_health_;
  WorkloadIndex& workloads_;
  WorkerDirectory& workers_;
  Dispatcher& dispatcher_;
};

}  // namespace mlc::server
