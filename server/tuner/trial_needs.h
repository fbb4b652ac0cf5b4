// The needs of a job's trials. Pure; thread-safe.
#pragma once

#include "server/scheduler/capability.h"
#include "server/search/strategy.h"
#include "server/tuner/running_job.h"

namespace mlc::server {

// `facts`: those of the same job.
Needs NeedsOf(const JobSpec& job, const JobFacts& facts, const Proposal& proposal);
// The needs that all trials of the job have at least.
Needs LeastNeeds(const JobSpec& job);

}  // namespace mlc::server
