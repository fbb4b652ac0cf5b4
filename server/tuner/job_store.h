// Jobs in the log: their rows as requests make them and as runs move them, and the models that
// they leave. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "server/jobs/job_request.h"
#include "server/tuner/log_health.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

class JobStore {
 public:
  // Borrows all of them.
  JobStore(const TunerContext& context, TunerTables& tables, LogHealth& log_health)
      : context_(context), tables_(tables), log_health_(log_health) {}

  // A job notes what it knows, or leaves what it learned: one at a time. Held from RowFor until the
  // row is in the log.
  Mutex knowledge;

  // The row of the same job if the log has one (`resumed`), brought up to the request; else a new
  // one. What the job knew when it began stays.
  Result<db::JobRow> RowFor(const JobRequest& request, bool& resumed) const MLC_REQUIRES(knowledge);
  // What a job taught, for later ones; models that no job needs any more are forgotten.
  Status SaveModels(const JobSpec& job, std::vector<SavedModel> models) MLC_EXCLUDES(knowledge);

  // NOT_FOUND if the log has no such job.
  Result<db::JobRow> Row(const std::string& id) const;
  Result<std::string> WorkloadText(const Digest& workload) const;
  // The job of a row, ready to run.
  Result<std::shared_ptr<RunningJob>> Open(db::JobRow row) const;
  // Writes the row of a job that runs, as it stands.
  Status Save(RunningJob& job) MLC_EXCLUDES(rows_, tables_.mutex);

 private:
  // The newest job of the log that asked for the same, a fresh one included.
  Result<std::optional<db::JobRow>> EarlierJob(const JobRequest& request) const;

  const TunerContext& context_;
  TunerTables& tables_;
  LogHealth& log_health_;
  // Rows are written in the order of their states.
  Mutex rows_ MLC_ACQUIRED_BEFORE(tables_.mutex);
};

}  // namespace mlc::server
