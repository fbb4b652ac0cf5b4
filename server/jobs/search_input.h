// Reads from the log what a job's search starts from. Bounded by what the job recorded when it
// began (the last record, the last model), so that a resumed job starts from what it started from
// the first time, whatever other jobs left since.
#pragma once

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "db/tuning_log.h"
#include "server/search/strategy.h"

namespace mlc::server {

// The job's row must be in the log, with its tasks; its target must parse. `index`: of the same
// log.
Result<SearchInput> SearchInputOf(const db::TuningLog& log, WorkloadIndex& index,
                                  const db::JobRow& job);

}  // namespace mlc::server
