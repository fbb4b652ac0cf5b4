// Worker sessions, worker states, admin holds, and the demand for workers.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {
namespace {

// Compilers say much.
constexpr size_t kMostOfWhy = 300;

Status NoWorker(const std::string& name) {
  return NotFound("no worker " + name + " has called this server; mlc-tune --workers lists them");
}

}  // namespace

Needs Tuner::NeedsOf(const Job& job, const Proposal& proposal) const {
  const auto task = static_cast<size_t>(proposal.task);
  Needs needs;
  needs.target_class = job.target_class;
  // All trials of such a job: they are compared on one device.
  needs.reported_only = !job.options.user_kernel.empty() || schedule::IsUserKernel(proposal.config);
  needs.kernel = !job.options.user_kernel.empty()
                     ? schedule::UserKernelName(job.options.user_kernel)
                     : proposal.config.family + "/" + std::to_string(proposal.config.version);
  // Rounded, so that a job has few queues.
  if (task < job.memory_bytes.size()) {
    needs.memory_bytes =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(job.memory_bytes[task])) / 2);
  }
  return needs;
}

// Of whatever trials it will have.
Needs Tuner::LeastNeeds(const Job& job) {
  Needs needs;
  needs.target_class = job.target_class;
  needs.reported_only = !job.options.user_kernel.empty();
  if (needs.reported_only) needs.kernel = schedule::UserKernelName(job.options.user_kernel);
  return needs;
}

// What a job lacks, for people. REQUIRES mutex_.
std::string Tuner::WaitsFor(const Needs& needs) const {
  std::string text = "waits for a worker of " + ToText(needs);
  struct Connected {
    int all = 0, kept = 0;
  };
  std::map<std::string, Connected> connected;
  for (const auto& [name, info] : registry_.workers) {
    const proto::WorkerState state = StateOf(name, info);
    if (SteadyMs() - info.called_ms > options_.terms.lease_ms) continue;
    ++connected[info.offer.target_class].all;
    connected[info.offer.target_class].kept += state == proto::READY && !info.draining ? 0 : 1;
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
  if (registry_.unserved.contains(needs)) text += "; no pool of the fleet has such workers";
  return text;
}

// Why the job failed, ended early or does not go on, now. REQUIRES mutex_.
std::string Tuner::DetailOf(const Job& job) const {
  if (job.ended || !job.progress.detail().empty()) return job.progress.detail();
  const std::optional<Needs> unserved = leases_.Unserved(job.row.id);
  return unserved ? WaitsFor(*unserved) : AbandonedText(job);
}

// REQUIRES mutex_.
std::string Tuner::AbandonedText(const Job& job) {
  if (job.abandoned == 0) return {};
  return std::to_string(job.abandoned) + (job.abandoned == 1 ? " trial" : " trials") +
         " could not be run by any worker, last: " + job.abandon_reason.substr(0, kMostOfWhy);
}

int64_t Tuner::OpenSession(const proto::OpenSessionRequest& request, std::function<void()> wake,
                           std::function<void()> disconnect) {
  std::lock_guard lock(mutex_);
  WorkerSession session{static_cast<int64_t>(++registry_.last_number), request.incarnation(),
                        std::move(wake), std::move(disconnect)};
  const int64_t id = session.id;
  if (draining_) session.disconnect();
  std::swap(registry_.sessions[request.worker()], session);
  // The stream of an older process: its worker has not noticed yet.
  if (session.disconnect) session.disconnect();
  return id;
}

void Tuner::Disconnected(int64_t id) {
  std::lock_guard lock(mutex_);
  for (auto it = registry_.sessions.begin(); it != registry_.sessions.end(); ++it) {
    if (it->second.id != id) continue;
    leases_.Disconnected(it->first, it->second.incarnation, SteadyMs());
    registry_.sessions.erase(it);
    return;
  }
}

void Tuner::DisconnectSessions() {
  std::lock_guard lock(mutex_);
  draining_ = true;
  for (auto& [name, session] : registry_.sessions) session.disconnect();
}

// As many as there are trials, of those that asked for more than there was. REQUIRES mutex_.
void Tuner::WakeWorkers(const std::string& target_class) {
  const auto idle = registry_.idle.find(target_class);
  if (idle == registry_.idle.end()) return;
  int64_t queued = leases_.queued();
  while (queued-- > 0 && !idle->second.empty()) {
    const std::string name = *idle->second.begin();
    idle->second.erase(idle->second.begin());
    const auto session = registry_.sessions.find(name);
    if (session != registry_.sessions.end()) session->second.wake();
  }
}

// REQUIRES mutex_.
proto::WorkerState Tuner::StateOf(const std::string& worker, const WorkerInfo& info) const {
  using State = WorkerHealth::State;
  const State state = registry_.health.StateOf(worker);
  if (state == State::kQuarantined) return proto::QUARANTINED;
  if (SteadyMs() - info.called_ms > options_.terms.lease_ms) return proto::OFFLINE;
  if (draining_ || registry_.health.Draining(worker)) return proto::DRAINING;
  return state == State::kUntested ? proto::UNTESTED : proto::READY;
}

proto::ListWorkersReply Tuner::ListWorkers() const {
  std::lock_guard lock(mutex_);
  const int64_t now = SteadyMs();
  proto::ListWorkersReply reply;
  for (const auto& [name, info] : registry_.workers) {
    const WorkerHealth::Summary health = registry_.health.SummaryOf(name);
    const int64_t silent = now - info.called_ms;
    proto::WorkerLine& line = *reply.add_workers();
    line.set_worker(name);
    line.set_state(StateOf(name, info));
    line.set_reason(health.why);
    line.set_target(info.target);
    line.set_build(info.build);
    *line.mutable_capabilities() = info.capabilities;
    line.set_holding(leases_.HeldBy(name));
    line.set_results(info.results);
    line.set_failures(info.failures);
    line.set_refused(info.refused);
    line.set_silent_ms(silent);
    line.set_canary_age_ms(health.canary_ms < 0 ? -1 : now - health.canary_ms);
  }
  // Quarantined by an administrator, and without a call since this server started.
  for (const std::string& name : registry_.health.HeldByAdmin()) {
    if (registry_.workers.contains(name)) continue;
    proto::WorkerLine& line = *reply.add_workers();
    line.set_worker(name);
    line.set_state(proto::QUARANTINED);
    line.set_reason(registry_.health.SummaryOf(name).why);
    line.set_silent_ms(now - started_ms_);
    line.set_canary_age_ms(-1);
  }
  return reply;
}

Status Tuner::DrainWorker(const std::string& worker, const std::string& reason) {
  return SetAdminHold(worker, "drains: " + reason, [&] {
    registry_.health.Drain(worker, reason);
    const auto session = registry_.sessions.find(worker);
    if (session != registry_.sessions.end()) session->second.wake();
  });
}

Status Tuner::QuarantineWorker(const std::string& worker, const std::string& reason) {
  return SetAdminHold(worker, "quarantined by an administrator: " + reason,
                      [&] { registry_.health.Quarantine(worker, reason, SteadyMs()); });
}

Status Tuner::ReleaseWorker(const std::string& worker) {
  return SetAdminHold(worker, "released", [&] { registry_.health.Release(worker); });
}

// Applies an administrator's decision at once and stores it in the log for later server processes.
Status Tuner::SetAdminHold(const std::string& worker, const std::string& what,
                           const std::function<void()>& decide) {
  std::lock_guard order(rows_);
  db::AdminHold row;
  {
    std::lock_guard lock(mutex_);
    if (!registry_.workers.contains(worker) && !registry_.health.SummaryOf(worker).known) {
      return NoWorker(worker);
    }
    decide();
    const WorkerHealth::AdminHold hold = registry_.health.AdminHoldOf(worker);
    row = {worker, hold.quarantine, hold.drain, hold.incarnation, WallUs()};
  }
  options_.logger->info("worker={} {}", worker, what);
  return log_.PutAdminHold(row).WithPrefix("until the server restarts, " + worker + " " + what +
                                           "; it could not be written down");
}

Status Tuner::RestoreAdminHolds() {
  for (const db::AdminHold& hold : MLC_TRY(log_.AdminHolds())) {
    std::lock_guard lock(mutex_);
    registry_.health.RestoreAdminHold(hold.worker, {hold.quarantine, hold.drain, hold.incarnation});
  }
  return Status();
}

// The needs of a job's trials are more precise than those of the job: some may fit no worker.
Demand Tuner::WorkDemand() const {
  std::lock_guard lock(mutex_);
  std::map<Needs, NeededWork> work;
  for (const auto& [id, job] : jobs_) {
    const Leases::Load load = leases_.LoadOf(id);
    if (!job->ended && load.queued + load.leased == 0) ++work[LeastNeeds(*job)].jobs;
  }
  for (const auto& [needs, load] : leases_.LoadByNeeds()) {
    work[needs].queued = load.queued;
    work[needs].leased = load.leased;
  }
  Demand demand;
  for (auto& [needs, needed] : work) {
    needed.needs = needs;
    demand.work.push_back(std::move(needed));
  }
  for (const auto& [name, info] : registry_.workers) {
    const int64_t silent = SteadyMs() - info.called_ms;
    if (silent > 20 * options_.terms.lease_ms) continue;
    demand.workers.push_back({name, info.offer, leases_.HeldBy(name), silent,
                              info.draining || registry_.health.Draining(name)});
  }
  return demand;
}

void Tuner::SetUnservedNeeds(const std::vector<Needs>& needs) {
  std::lock_guard lock(mutex_);
  registry_.unserved = {needs.begin(), needs.end()};
}

// Drops the state of workers that the roster evicts, and target classes without workers.
// REQUIRES mutex_.
void Tuner::ForgetWorkers() {
  const auto is_excluded = [this](const std::string& worker) {
    return registry_.health.IsExcluded(worker);
  };
  for (const std::string& worker : registry_.roster.Forget(is_excluded, SteadyMs())) {
    if (const WorkerInfo* info = registry_.Find(worker)) {
      const auto idle = registry_.idle.find(info->offer.target_class);
      if (idle != registry_.idle.end()) idle->second.erase(worker);
    }
    registry_.workers.erase(worker);
    registry_.health.Forget(worker);
    leases_.Forget(worker);
    registry_.classes_change = true;
  }
  if (!std::exchange(registry_.classes_change, false)) return;
  std::set<std::string> classes;
  for (const auto& [worker, info] : registry_.workers) classes.insert(info.offer.target_class);
  const auto is_gone = [&](const auto& entry) { return !classes.contains(entry.first); };
  std::erase_if(targets_, is_gone);
  std::erase_if(registry_.idle, is_gone);
}

}  // namespace mlc::server
