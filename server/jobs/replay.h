// Repeats the search of a job from records alone, as a restarted server does, but without workers:
// a trial without a record stays unknown. Tells whether a log holds all that the search saw, and
// whether this build takes the same course. Only reads the log. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/digest.h"
#include "base/status.h"
#include "db/tuning_log.h"
#include "server/jobs/job_request.h"
#include "server/search/strategy.h"

namespace mlc::server {

struct ReplayedSearch {
  Digest job;
  bool is_known = false;              // the log has the job, or records of it
  int64_t wanted = 0;                 // trials of the job
  int64_t answered = 0;               // trials of its search that the log has
  int64_t unknown = 0;                // trials that the search proposed and the log lacks
  std::array<int64_t, 8> outcomes{};  // of those answered, by Outcome
  std::string detail;                 // why the search ended before its trials were spent
};

// The newest job of the same tasks, target class and seed, with its number of trials unless the
// request has one (then not 0). It starts from what the log held when the job began. A log that was
// merged or imported has records of jobs without the jobs: such a search starts from the records
// before its own first one, and without saved models. The search ends after batches in flight whose
// last trials, as many as one of them has, are unknown.
Result<ReplayedSearch> ReplaySearch(const db::TuningLog& log, const JobRequest& request,
                                    const StrategyFactory& strategy);

}  // namespace mlc::server
