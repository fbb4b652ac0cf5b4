// The plan of a job's run, from its row in the log. Pure; thread-safe.
#pragma once

#include "compiler/target/target.h"
#include "db/record.h"
#include "server/jobs/job.h"
#include "server/jobs/job_request.h"

namespace mlc::server {

// `options`: those of the row. `target`: of its kind depends how many batches are in flight.
JobRun::Plan PlanOf(const db::JobRow& row, const JobOptions& options, const target::Target& target);

}  // namespace mlc::server
