// What the tuner knows about jobs, leases and workers, into the metrics, as often as it ticks.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

#include "base/clock.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {
namespace {

constexpr std::array<const char*, 6> kStates = {"untested", "idle",        "busy",
                                                "draining", "quarantined", "offline"};

}  // namespace

// The lease core counts for itself. REQUIRES mutex_.
void Tuner::Report() {
  Metrics& metrics = *options_.metrics;
  const Leases::Counts& counts = leases_.counts();
  metrics.Add(Counter::kLeasesExpired, counts.lost - reported_.lost);
  metrics.Add(Counter::kTrialRetries, counts.retried - reported_.retried);
  reported_ = counts;
  metrics.Set(Gauge::kTrialsQueued, static_cast<double>(counts.queued));
  metrics.Set(Gauge::kTrialsLeased, static_cast<double>(counts.leased));
  metrics.Set(Gauge::kTrialsReceived, static_cast<double>(counts.received));
  int running = 0;
  int waiting = 0;
  for (const auto& [id, job] : jobs_) {
    if (job->ended) continue;
    const bool there = leases_.WorkersOf(job->target_class, SteadyMs()) > 0;
    ++(there && !leases_.Unserved(id) ? running : waiting);
  }
  metrics.Set(Gauge::kJobsRunning, running);
  metrics.Set(Gauge::kJobsWaiting, waiting);
  ReportWorkers();
}

TunerCounts Tuner::Count() const {
  std::lock_guard lock(mutex_);
  TunerCounts counts;
  counts.names = registry_.roster.size();
  counts.live_names = registry_.roster.live();
  counts.workers = std::ssize(registry_.workers);
  counts.health = registry_.health.size();
  counts.lease_workers = leases_.workers();
  for (const auto& [target_class, names] : registry_.idle) counts.idle += std::ssize(names);
  counts.classes = std::max(std::ssize(targets_), std::ssize(registry_.idle));
  counts.checks = std::ssize(registry_.checks);
  counts.sessions = std::ssize(registry_.sessions);
  counts.jobs = std::ssize(jobs_);
  counts.trials = std::ssize(pending_);
  counts.shares = leases_.shares().size();
  return counts;
}

// REQUIRES mutex_.
void Tuner::ReportWorkers() const {
  std::map<std::string, int64_t> workers;
  for (const auto& [name, info] : registry_.workers) {
    switch (StateOf(name, info)) {
      case proto::READY:
        ++workers[leases_.HeldBy(name) > 0 ? "busy" : "idle"];
        break;
      case proto::DRAINING:
        ++workers["draining"];
        break;
      case proto::QUARANTINED:
        ++workers["quarantined"];
        break;
      case proto::OFFLINE:
        ++workers["offline"];
        break;
      default:
        ++workers["untested"];
    }
  }
  for (const char* state : kStates) options_.metrics->SetWorkers(state, workers[state]);
}

}  // namespace mlc::server
