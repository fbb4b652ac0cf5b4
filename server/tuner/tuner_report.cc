#include "server/tuner/tuner_report.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

namespace mlc::server {
namespace {

constexpr std::array<const char*, 6> kStates = {"untested", "idle",        "busy",
                                                "draining", "quarantined", "offline"};

}  // namespace

// The lease core counts for itself.
void TunerReport::Report(const TunerTables& tables) {
  Metrics& metrics = context_.metrics();
  const Leases::Counts& counts = tables.leases.counts();
  metrics.Add(Counter::kLeasesExpired, counts.lost - reported_.lost);
  metrics.Add(Counter::kTrialRetries, counts.retried - reported_.retried);
  reported_ = counts;
  metrics.Set(Gauge::kTrialsQueued, static_cast<double>(counts.queued));
  metrics.Set(Gauge::kTrialsLeased, static_cast<double>(counts.leased));
  metrics.Set(Gauge::kTrialsReceived, static_cast<double>(counts.received));
  int running = 0;
  int waiting = 0;
  for (const auto& [id, job] : tables.jobs) {
    if (tables.Of(*job).ended) continue;
    const bool there =
        tables.leases.workers().CountOf(job->spec.target_class, context_.NowMs()) > 0;
    ++(there && !tables.leases.Unserved(id) ? running : waiting);
  }
  metrics.Set(Gauge::kJobsRunning, running);
  metrics.Set(Gauge::kJobsWaiting, waiting);
  ReportWorkers(tables);
}

TunerCounts TunerReport::Count(const TunerTables& tables) {
  TunerCounts counts;
  counts.names = tables.registry.roster.size();
  counts.live_names = tables.registry.roster.live();
  counts.workers = std::ssize(tables.registry.workers);
  counts.health = tables.registry.health.size();
  counts.lease_workers = tables.leases.workers().size();
  for (const auto& [target_class, names] : tables.registry.idle) counts.idle += std::ssize(names);
  counts.classes = std::max(std::ssize(tables.targets), std::ssize(tables.registry.idle));
  counts.checks = std::ssize(tables.registry.checks);
  counts.sessions = std::ssize(tables.registry.sessions);
  counts.jobs = std::ssize(tables.jobs);
  counts.trials = std::ssize(tables.pending);
  counts.shares = tables.leases.shares().size();
  return counts;
}

void TunerReport::ReportWorkers(const TunerTables& tables) const {
  std::map<std::string, int64_t> workers;
  for (const auto& [name, info] : tables.registry.workers) {
    switch (workers_.StateOf(tables, name, info)) {
      case WorkerState::kReady:
        ++workers[tables.leases.workers().HeldBy(name) > 0 ? "busy" : "idle"];
        break;
      case WorkerState::kDraining:
        ++workers["draining"];
        break;
      case WorkerState::kQuarantined:
        ++workers["quarantined"];
        break;
      case WorkerState::kOffline:
        ++workers["offline"];
        break;
      default:
        ++workers["untested"];
    }
  }
  for (const char* state : kStates) context_.metrics().SetWorkers(state, workers[state]);
}

}  // namespace mlc::server
