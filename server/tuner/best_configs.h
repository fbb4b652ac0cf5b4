// Answers questions of builds about the best configs of the log: fast configs of workloads and of
// similar workloads. Thread-safe.
#pragma once

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "db/tuning_log.h"
#include "server/jobs/best_answer.h"
#include "server/jobs/best_cache.h"

namespace mlc::server {

class BestConfigs {
 public:
  // Borrows both. REQUIRES: the index belongs to the log.
  BestConfigs(const db::TuningLog& log, WorkloadIndex& index) : log_(log), index_(index) {}

  Result<BestAnswer> Find(const BestQuestion& question);
  // See BestCache::Changed.
  void Changed(const Digest& workload, double median_ns) { cache_.Changed(workload, median_ns); }

 private:
  const db::TuningLog& log_;
  WorkloadIndex& index_;
  BestCache cache_;
};

}  // namespace mlc::server
