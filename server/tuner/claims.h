// Finds the measurement that a confirmation repeats. A search measures its leaders again in one
// group, and the confirmed times take precedence. A confirmation therefore goes to another worker
// than the one that measured the leader, if there is one: no worker confirms itself. Thread-safe.
#pragma once

#include <vector>

#include "db/tuning_log.h"
#include "server/jobs/job.h"
#include "server/tuner/running_job.h"
#include "server/workers/worker_registry.h"

namespace mlc::server {

// The claim of each trial, parallel to `trials`; empty for a trial that confirms nothing. Reads the
// log.
std::vector<Claim> ClaimsOn(const db::TuningLog& log, const JobSpec& job,
                            const std::vector<Trial>& trials);

}  // namespace mlc::server
