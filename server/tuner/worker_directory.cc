#include "server/tuner/worker_directory.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/tuner/trial_needs.h"

namespace mlc::server {
namespace {

constexpr int kMostDevices = 1024;
// A worker is lost for the fleet after so many leases of silence.
constexpr int64_t kLostLeases = 20;

Offer OfferOf(const Capabilities& capabilities, const std::string& target_class) {
  Offer offer;
  offer.target_class = target_class;
  offer.memory_bytes = capabilities.memory_bytes;
  offer.kernels.insert(capabilities.kernels.begin(), capabilities.kernels.end());
  offer.devices = std::clamp(capabilities.devices, 1, kMostDevices);
  return offer;
}

}  // namespace

bool WorkerDirectory::IsSilent(const WorkerInfo& info) const {
  return context_.NowMs() - info.called_ms > context_.options.terms.lease_ms;
}

Status WorkerDirectory::Register(TunerTables& tables, const SyncCall& call,
                                 const std::string& owner) {
  const WorkerCall& request = call.request;
  WorkerRegistry& registry = tables.registry;
  const int64_t now = context_.NowMs();
  MLC_TRY(registry.roster.RecordContact(request.worker, owner, now));
  registry.health.RecordContact(request.worker, request.incarnation, now);
  WorkerInfo& info = registry.workers[request.worker];
  info.called_ms = now;
  info.draining = request.draining;
  if (info.incarnation != request.incarnation) {
    context_.logger().info("worker={}: {} build {}", request.worker, request.target, request.build);
    info.incarnation = request.incarnation;
  }
  info.target = request.target;
  info.build = request.build;
  info.capabilities = request.capabilities;
  info.use = request.use;
  if (!info.offer.target_class.empty() && info.offer.target_class != call.target_class) {
    const auto idle = registry.idle.find(info.offer.target_class);
    if (idle != registry.idle.end()) idle->second.erase(request.worker);
    registry.classes_change = true;
  }
  info.offer = OfferOf(request.capabilities, call.target_class);
  if (tables.targets.emplace(call.target_class, request.target).second) {
    tables.ScheduleAll(queue_);
  }
  return Status();
}

void WorkerDirectory::Forget(TunerTables& tables) {
  WorkerRegistry& registry = tables.registry;
  const auto is_excluded = [&tables](const std::string& worker) MLC_REQUIRES(tables.mutex) {
    return tables.registry.health.IsExcluded(worker);
  };
  for (const std::string& worker : registry.roster.Forget(is_excluded, context_.NowMs())) {
    if (const WorkerInfo* info = registry.Find(worker)) {
      const auto idle = registry.idle.find(info->offer.target_class);
      if (idle != registry.idle.end()) idle->second.erase(worker);
    }
    registry.workers.erase(worker);
    registry.health.Forget(worker);
    tables.leases.Forget(worker);
    registry.classes_change = true;
  }
  if (!std::exchange(registry.classes_change, false)) return;
  std::set<std::string> classes;
  for (const auto& [worker, info] : registry.workers) classes.insert(info.offer.target_class);
  const auto is_gone = [&](const auto& entry) { return !classes.contains(entry.first); };
  std::erase_if(tables.targets, is_gone);
  std::erase_if(registry.idle, is_gone);
}

void WorkerDirectory::ReportBadResult(TunerTables& tables, const std::string& worker,
                                      const std::string& why) {
  WorkerRegistry& registry = tables.registry;
  if (WorkerInfo* info = registry.Find(worker)) ++info->refused;
  context_.metrics().Add(Counter::kRejectedResults);
  if (!registry.health.ReportBadResult(worker, why, context_.NowMs())) return;
  context_.logger().warn("worker={} quarantined: {}", worker,
                         registry.health.SummaryOf(worker).why);
}

WorkerState WorkerDirectory::StateOf(const TunerTables& tables, const std::string& worker,
                                     const WorkerInfo& info) const {
  using State = WorkerHealth::State;
  const State state = tables.registry.health.StateOf(worker);
  if (state == State::kQuarantined) return WorkerState::kQuarantined;
  if (IsSilent(info)) return WorkerState::kOffline;
  if (tables.draining || tables.registry.health.Draining(worker)) return WorkerState::kDraining;
  return state == State::kUntested ? WorkerState::kUntested : WorkerState::kReady;
}

std::string WorkerDirectory::WaitsFor(const TunerTables& tables, const Needs& needs) const {
  std::string text = "waits for a worker of " + ToText(needs);
  struct Connected {
    int all = 0, kept = 0;
  };
  std::map<std::string, Connected> connected;
  for (const auto& [name, info] : tables.registry.workers) {
    const WorkerState state = StateOf(tables, name, info);
    if (IsSilent(info)) continue;
    ++connected[info.offer.target_class].all;
    connected[info.offer.target_class].kept +=
        state == WorkerState::kReady && !info.draining ? 0 : 1;
  }
  text += "; connected: ";
  if (connected.empty()) text += "none";
  bool first = true;
  for (const auto& [target_class, count] : connected) {
    text += (first ? "" : ", ") + std::to_string(count.all) + " of " + target_class;
    if (count.kept > 0) {
      text += ", " + std::to_string(count.kept) + " of them untested, quarantined or draining";
    }
    first = false;
  }
  if (tables.registry.unserved.contains(needs)) text += "; no pool of the fleet has such workers";
  return text;
}

double WorkerDirectory::GpuBusy(const TunerTables& tables, const std::string& target_class) const {
  double trial_s = 0, busy_s = 0;
  for (const auto& [name, info] : tables.registry.workers) {
    if (info.offer.target_class != target_class || IsSilent(info)) continue;
    trial_s += std::max(0.0, info.use.trial_s);
    busy_s += std::max(0.0, info.use.busy_s);
  }
  // A worker may tell anything.
  return trial_s > 0 ? std::min(1.0, busy_s / trial_s) : 0;
}

std::vector<WorkerLine> WorkerDirectory::List() const {
  const MutexLock lock(tables_.mutex);
  const int64_t now = context_.NowMs();
  std::vector<WorkerLine> lines;
  for (const auto& [name, info] : tables_.registry.workers) {
    const WorkerHealth::Summary health = tables_.registry.health.SummaryOf(name);
    WorkerLine& line = lines.emplace_back();
    line.worker = name;
    line.state = StateOf(tables_, name, info);
    line.reason = health.why;
    line.target = info.target;
    line.build = info.build;
    line.capabilities = info.capabilities;
    line.holding = tables_.leases.workers().HeldBy(name);
    line.results = info.results;
    line.failures = info.failures;
    line.refused = info.refused;
    line.silent_ms = now - info.called_ms;
    line.canary_age_ms = health.canary_ms < 0 ? -1 : now - health.canary_ms;
  }
  // Quarantined by an administrator, and without a call since this server started.
  for (const std::string& name : tables_.registry.health.HeldByAdmin()) {
    if (tables_.registry.workers.contains(name)) continue;
    WorkerLine& line = lines.emplace_back();
    line.worker = name;
    line.state = WorkerState::kQuarantined;
    line.reason = tables_.registry.health.SummaryOf(name).why;
    line.silent_ms = now - context_.started_ms;
  }
  return lines;
}

// The needs of a job's trials are more precise than those of the job: some may fit no worker.
Demand WorkerDirectory::WorkDemand() const {
  const MutexLock lock(tables_.mutex);
  std::map<Needs, NeededWork> work;
  for (const auto& [id, job] : tables_.jobs) {
    const Leases::Load load = tables_.leases.queues().LoadOf(id);
    if (!tables_.Of(*job).ended && load.queued + load.leased == 0) {
      ++work[LeastNeeds(job->spec)].jobs;
    }
  }
  for (const auto& [needs, load] : tables_.leases.queues().LoadByNeeds()) {
    work[needs].queued = load.queued;
    work[needs].leased = load.leased;
  }
  Demand demand;
  for (auto& [needs, needed] : work) {
    needed.needs = needs;
    demand.work.push_back(std::move(needed));
  }
  for (const auto& [name, info] : tables_.registry.workers) {
    const int64_t silent = context_.NowMs() - info.called_ms;
    if (silent > kLostLeases * context_.options.terms.lease_ms) continue;
    demand.workers.push_back({name, info.offer, tables_.leases.workers().HeldBy(name), silent,
                              info.draining || tables_.registry.health.Draining(name)});
  }
  return demand;
}

void WorkerDirectory::SetUnservedNeeds(const std::vector<Needs>& needs) {
  const MutexLock lock(tables_.mutex);
  tables_.registry.unserved = {needs.begin(), needs.end()};
}

}  // namespace mlc::server
