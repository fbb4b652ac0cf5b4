// A search measures its leaders again, side by side, and that counts more than what they took
// before. So they go to another worker than the one that claims the lead, if there is one: no
// worker confirms itself.
#pragma once

#include <vector>

#include "db/tuning_log.h"
#include "server/jobs/job.h"
#include "server/tuner/running_job.h"
#include "server/workers/worker_registry.h"

namespace mlc::server {

// What each of the job's trials repeats, empty for one that confirms nothing. Reads the log.
std::vector<Claim> ClaimsOn(const db::TuningLog& log, const JobSpec& job,
                            const std::vector<Trial>& trials);

}  // namespace mlc::server
