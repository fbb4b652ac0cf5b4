// The options of a tuner. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "server/jobs/quotas.h"
#include "server/metrics/metrics.h"
#include "server/scheduler/lease_types.h"
#include "server/search/strategy.h"
#include "server/workers/worker_health.h"
#include "server/workers/worker_roster.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

// Hears of a workload (canonical text) that a build for a target class asked for and the log has no
// record of. Called on any thread; must be quick.
using UntunedListener = std::function<void(const std::string& workload, const std::string& target)>;

struct TunerOptions {
  StrategyFactory strategy;
  LeaseTerms terms;
  HealthTerms health;                // of workers; without canaries, none is quarantined
  RosterTerms names;                 // of workers: most names, and how long they are remembered
  int64_t confirm_wait_ms = 20'000;  // for a second worker; after it, the first one may confirm
  bool resume_jobs = true;           // go on with the running jobs of the log
  int search_threads = 1;            // jobs whose searches compute at the same time
  int search_nice = 0;               // niceness of the search threads
  std::string timing_lock;           // see TimingLock; empty: none
  std::string crash_marker;          // see InstallCrashMarker; empty: crashes count against no job
  UntunedListener untuned;           // may be empty
  Quotas quotas;                     // what each user may ask for
  const Clock* clock = &SystemClock();     // must outlive the tuner
  std::shared_ptr<spdlog::logger> logger;  // must be set
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
};

}  // namespace mlc::server
