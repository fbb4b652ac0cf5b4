// The state that calls, search threads and commits of a tuner share, with the mutex that guards it:
// jobs, trials between proposal and commit, leases and workers. One mutex guards all tables,
// because a call or a step changes several of them together. The parts of the tuner hold it
// briefly: never during reads or writes of the log, and never while a search computes.
//
// Lock order: JobStore::knowledge, then the row mutex of JobStore or AdminHolds, then this one,
// then those of SearchQueue, SyncCall and LogHealth.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "server/jobs/quotas.h"
#include "server/scheduler/leases.h"
#include "server/tuner/running_job.h"
#include "server/tuner/search_queue.h"
#include "server/tuner/tuner_options.h"
#include "server/workers/worker_registry.h"

namespace mlc::server {

// A trial between proposal and commit.
struct PendingTrial {
  std::shared_ptr<RunningJob> job;
  Proposal proposal;
  int64_t queued_ms = 0;
  int64_t leased_ms = 0;  // 0: not yet
  Claim claim;            // of a confirmation
};

struct TunerTables {
  explicit TunerTables(const TunerOptions& options);

  JobFacts& Of(RunningJob& job) MLC_REQUIRES(mutex) { return job.facts_; }
  const JobFacts& Of(const RunningJob& job) const MLC_REQUIRES(mutex) { return job.facts_; }
  // Null for a job that neither runs here nor ended recently.
  std::shared_ptr<RunningJob> FindJob(const std::string& id) const MLC_REQUIRES(mutex);
  // Adds a running job; it replaces an ended one with its id.
  void Insert(const std::shared_ptr<RunningJob>& job) MLC_REQUIRES(mutex);
  // Sets owner, priority and weight of the job for fair sharing.
  void UpdateShares(const db::JobRow& row) MLC_REQUIRES(mutex);
  // Makes all running jobs due.
  void ScheduleAll(SearchQueue& queue) const MLC_REQUIRES(mutex);

  mutable Mutex mutex;
  std::map<Digest, std::shared_ptr<RunningJob>> jobs MLC_GUARDED_BY(mutex);
  std::map<Digest, PendingTrial> pending MLC_GUARDED_BY(mutex);
  Leases leases MLC_GUARDED_BY(mutex);
  WorkerRegistry registry MLC_GUARDED_BY(mutex);
  // Target class -> target text of a worker in contact.
  std::map<std::string, std::string> targets MLC_GUARDED_BY(mutex);
  Quotas quotas MLC_GUARDED_BY(mutex);
  bool draining MLC_GUARDED_BY(mutex) = false;
  CondVar fewer;  // notified when fewer trials are in progress
};

}  // namespace mlc::server
