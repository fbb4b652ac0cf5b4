// Answers questions of builds about the best configs of the log: fast configs of workloads and of
// similar workloads. Thread-safe.
#pragma once

#include <utility>

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "db/tuning_log.h"
#include "server/jobs/best_answer.h"
#include "server/jobs/best_cache.h"
#include "server/tuner/tuner_options.h"

namespace mlc::server {

class BestConfigs {
 public:
  // Borrows both. REQUIRES: the index belongs to the log. `untuned`: see TunerOptions.
  BestConfigs(const db::TuningLog& log, WorkloadIndex& index, UntunedListener untuned = {})
      : log_(log), index_(index), untuned_(std::move(untuned)) {}

  Result<BestAnswer> Find(const BestQuestion& question);
  // See BestCache::Changed.
  void Changed(const Digest& workload, double median_ns) { cache_.Changed(workload, median_ns); }

 private:
  const db::TuningLog& log_;
  WorkloadIndex& index_;
  const UntunedListener untuned_;
  BestCache cache_;
};

}  // namespace mlc::server
