// Answers queries about jobs: progress, descriptions and lists. For jobs that do not run here, it
// reads the log. Thread-safe; changes nothing.
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
  // Why the job failed, ended early or waits, as of now.
  std::string DetailOf(const RunningJob& job) const MLC_REQUIRES(tables_.mutex);
  // The summary of a job with this row in the log. If the job runs, the summary is newer than the
  // row.
  JobSummary SummaryNow(const db::JobRow& row) const MLC_EXCLUDES(tables_.mutex);

  const TunerContext& context_;
  const TunerTables& tables_;
  const JobStore& store_;
  const LogHealth& log_health_;
  const WorkerDirectory& workers_;
};

}  // namespace mlc::server
