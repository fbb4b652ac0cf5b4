// What a job's trials ask of a worker. Pure.
#pragma once

#include "server/scheduler/capability.h"
#include "server/search/strategy.h"
#include "server/tuner/running_job.h"

namespace mlc::server {

// `facts`: of the job.
Needs NeedsOf(const JobSpec& job, const JobFacts& facts, const Proposal& proposal);
// Of whatever trials the job will have.
Needs LeastNeeds(const JobSpec& job);

}  // namespace mlc::server
