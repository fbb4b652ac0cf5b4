// Reads the input of a job's search from the log. It reads only up to the last record and the last
// model that the job noted when it began. A resumed job therefore starts from the same input,
// whatever other jobs have added since. For a reproducible job, logs with the same records give the
// same input, in whatever order the records were inserted. Thread-safe.
#pragma once

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "db/tuning_log.h"
#include "server/search/strategy.h"

namespace mlc::server {

// REQUIRES: the log has the job's row with its tasks, the target parses, and `index` belongs to the
// same log.
Result<SearchInput> SearchInputOf(const db::TuningLog& log, WorkloadIndex& index,
                                  const db::JobRow& job);

}  // namespace mlc::server
