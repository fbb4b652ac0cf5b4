// What people ask of jobs: progress, descriptions, lists. Jobs that do not run here are answered
// from the log. Thread-safe; changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/jobs/job_progress.h"
#include "server/tuner/job_store.h"
#include "server/tuner/log_health.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"
#include "server/tuner/worker_directory.h"

namespace mlc::server {

class JobQueries {
 public:
  // Other parts of the tuner, borrowed.
  struct Parts {
    const TunerTables& tables;
    const JobStore& store;
    const LogHealth& log_health;
    const WorkerDirectory& workers;
  };
  JobQueries(const TunerContext& context, Parts parts);

  // See the functions of Tuner.
  Result<JobProgress> Progress(const std::string& id) const MLC_EXCLUDES(tables_.mutex);
  Result<JobDescription> Describe(const std::string& id) const MLC_EXCLUDES(tables_.mutex);
  Result<std::vector<JobSummary>> List(int32_t limit) const MLC_EXCLUDES(tables_.mutex);

 private:
  // Why the job failed, ended early or does not go on, now.
  std::string DetailOf(const RunningJob& job) const MLC_REQUIRES(tables_.mutex);
  // Of a job with this row in the log: if it runs, it has moved since the row was written.
  JobSummary SummaryNow(const db::JobRow& row) const MLC_EXCLUDES(tables_.mutex);

  const TunerContext& context_;
  const TunerTables& tables_;
  const JobStore& store_;
  const LogHealth& log_health_;
  const WorkerDirectory& workers_;
};

}  // namespace mlc::server
