// Stores jobs in the log: their rows, from requests and from runs, and the models that they leave.
// Thread-safe.
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

  // Serialises two things: a job that notes what it knows when it begins, and a job that stores
  // what it learned. Hold it from RowFor until the row is in the log.
  Mutex knowledge;

  // The row of this job. If the log has one (`resumed`), it is updated with the request and keeps
  // what the job knew when it began; else it is a new row.
  Result<db::JobRow> RowFor(const JobRequest& request, bool& resumed) const MLC_REQUIRES(knowledge);
  // Stores the models that a job has trained, and deletes models that no job needs any more.
  Status SaveModels(const JobSpec& job, std::vector<SavedModel> models) MLC_EXCLUDES(knowledge);

  // NOT_FOUND if the log has no such job.
  Result<db::JobRow> Row(const std::string& id) const;
  Result<std::string> WorkloadText(const Digest& workload) const;
  // Opens the job of a row, ready to run.
  Result<std::shared_ptr<RunningJob>> Open(db::JobRow row) const;
  // Writes the current row of a running job.
  Status Save(RunningJob& job) MLC_EXCLUDES(rows_, tables_.mutex);

 private:
  // The newest job of the log with an equal request, including fresh ones.
  Result<std::optional<db::JobRow>> EarlierJob(const JobRequest& request) const;

  const TunerContext& context_;
  TunerTables& tables_;
  LogHealth& log_health_;
  // Held while a row is written, so that the log has the rows in the order of their states.
  Mutex rows_ MLC_ACQUIRED_BEFORE(tables_.mutex);
};

}  // namespace mlc::server
