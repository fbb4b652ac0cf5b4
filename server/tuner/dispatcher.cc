#include "server/tuner/dispatcher.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/tuner/trial_needs.h"
#include "server/tuner/worker_sessions.h"

namespace mlc::server {
namespace {

constexpr int kMaxWant = 1024;
constexpr int64_t kBusyPollMs = 10;
constexpr int64_t kIdlePollMs = 100;
// All workers together that are only waiting call this often at most; those with a session are
// woken.
constexpr int64_t kPollsPerSecond = 500;
constexpr int64_t kLongestPollMs = 5'000;
// A restarted server proposes the trials of its jobs again; results and leases of such trials are
// not foreign, only early.
constexpr int64_t kGraceMs = 60'000;
// Leases also end by time, without a wake-up.
constexpr std::chrono::milliseconds kDrainLook(10);

}  // namespace

void Dispatcher::Queue(const std::shared_ptr<RunningJob>& job, std::vector<Trial> trials,
                       std::vector<Claim> claims) {
  if (trials.empty()) return;
  const MutexLock lock(tables_.mutex);
  for (size_t i = 0; i < trials.size(); ++i) {
    Trial& trial = trials[i];
    if (!tables_.leases.Add(AskFor(tables_, *job, trial, claims[i]))) continue;
    tables_.pending[trial.uid] = {job, std::move(trial.proposal), context_.NowMs(), 0,
                                  std::move(claims[i])};
  }
  WorkerSessions::Wake(tables_, job->spec.target_class);
}

// All of a turn avoid the same worker, so that they stay side by side.
LeaseAsk Dispatcher::AskFor(const TunerTables& tables, const RunningJob& job, const Trial& trial,
                            const Claim& claim) const {
  LeaseAsk ask{trial.uid, job.spec.id, NeedsOf(job.spec, tables.Of(job), trial.proposal),
               {},        {},          0};
  if (claim.avoid.empty() || tables.leases.workers().CountFor(ask.needs) < 2) return ask;
  ask.avoid = claim.avoid;
  ask.avoid_until_ms = context_.NowMs() + context_.options.confirm_wait_ms;
  return ask;
}

std::vector<Digest> Dispatcher::DropQueued(TunerTables& tables, const Digest& job) const {
  std::vector<Digest> dropped = tables.leases.DropQueued(job);
  for (const Digest& uid : dropped) tables.pending.erase(uid);
  return dropped;
}

void Dispatcher::DropAll(TunerTables& tables, const Digest& job) const {
  for (const Digest& uid : tables.leases.DropAll(job)) tables.pending.erase(uid);
  tables.fewer.NotifyAll();
}

bool Dispatcher::RecoveryIsOver(const TunerTables& tables) const {
  if (context_.NowMs() - context_.started_ms <= kGraceMs) return false;
  // Results may come whose trials are about to be proposed again.
  for (const auto& [id, job] : tables.jobs) {
    const JobFacts& facts = tables.Of(*job);
    if (facts.ended || facts.caught_up) continue;
    if (tables.targets.contains(job->spec.target_class)) return false;
  }
  return true;
}

LeaseContact Dispatcher::ContactOf(const TunerTables& tables, const SyncCall& call,
                                   const WorkerInfo& info) const {
  const WorkerCall& request = call.request;
  const WorkerHealth& health = tables.registry.health;
  LeaseContact contact;
  contact.worker = request.worker;
  contact.incarnation = request.incarnation;
  contact.sequence = request.sequence;
  contact.offer = info.offer;
  contact.holding = request.holding;
  contact.draining = request.draining || health.Draining(request.worker);
  contact.want = tables.draining || contact.draining ? 0 : std::clamp(request.want, 0, kMaxWant);
  contact.trusted = health.IsReady(request.worker);
  contact.quarantined = health.SummaryOf(request.worker).state == WorkerHealth::State::kQuarantined;
  return contact;
}

void Dispatcher::FillLeases(const SyncCall& call, WorkerOrders& orders) {
  const MutexLock lock(tables_.mutex);
  // The results of the call are dealt with.
  tables_.fewer.NotifyAll();
  WorkerRegistry& registry = tables_.registry;
  // A commit took so long that the worker is forgotten: it makes itself known with its next call.
  const WorkerInfo* info = registry.Find(call.worker());
  if (info == nullptr) {
    orders.next_poll_ms = kIdlePollMs;
    return;
  }
  const LeaseContact contact = ContactOf(tables_, call, *info);
  const LeaseOrders given = tables_.leases.Synchronize(contact, context_.NowMs());
  orders.stale = given.stale;
  for (const LeaseGrant& grant : given.grants) orders.leases.push_back(Fill(tables_, grant));
  for (const LeasePayment& one : given.paid) {
    context_.metrics().Observe(Span::kTrialDevice, one.device_s);
  }
  context_.metrics().Add(Counter::kLeasesGranted, static_cast<int64_t>(given.grants.size()));
  if (RecoveryIsOver(tables_)) orders.cancelled = given.cancelled;
  std::set<std::string>& idle = registry.idle[call.target_class];
  if (static_cast<int>(given.grants.size()) < contact.want) {
    idle.insert(call.worker());
  } else {
    idle.erase(call.worker());
  }
  orders.next_poll_ms = NextPollMs(tables_, call, !orders.leases.empty());
  orders.drain = tables_.draining || registry.health.Draining(call.worker());
  orders.timing_lock = context_.options.timing_lock;
}

LeasedTrial Dispatcher::Fill(TunerTables& tables, const LeaseGrant& grant) const {
  LeasedTrial lease;
  lease.uid = grant.uid;
  lease.attempt = grant.attempt;
  lease.lease_ms = context_.options.terms.lease_ms;
  const auto& checks = tables.registry.checks;
  if (const auto check = checks.find(grant.uid); check != checks.end()) {
    lease.workload = check->second.workload;
    lease.config = check->second.config;
    lease.seed = check->second.seed;
    return lease;
  }
  PendingTrial& pending = tables.pending.at(grant.uid);
  const int64_t now = context_.NowMs();
  // Later attempts did not wait in the queue of proposals.
  if (pending.leased_ms == 0) {
    context_.metrics().Observe(Span::kTrialQueue,
                               static_cast<double>(now - pending.queued_ms) / 1e3);
  }
  pending.leased_ms = now;
  const auto task = static_cast<size_t>(pending.proposal.task);
  const JobSpec& job = pending.job->spec;
  lease.workload = job.workload_texts[task];
  lease.config = pending.proposal.config.ToText();
  lease.seed = SeedOf(grant.uid, job.id, job.tasks[task].workload, pending.proposal);
  lease.early_stop_ns = pending.proposal.early_stop_ns;
  return lease;
}

int64_t Dispatcher::NextPollMs(const TunerTables& tables, const SyncCall& call,
                               bool has_leases) const {
  const int64_t least = tables.pending.empty() ? kIdlePollMs : kBusyPollMs;
  // Its results wait for a confirmation: that takes a while.
  const auto session = tables.registry.sessions.find(call.worker());
  if (session != tables.registry.sessions.end() &&
      session->second.incarnation == call.request.incarnation && call.request.finished.empty() &&
      !has_leases) {
    return std::min(kLongestPollMs, std::max(least, context_.options.terms.lease_ms / 4));
  }
  return std::clamp(tables.registry.roster.live() * 1000 / kPollsPerSecond, least, kLongestPollMs);
}

void Dispatcher::Learn(TunerTables& tables, std::map<Digest, PendingTrial>::iterator trial,
                       const Measurement& measurement) {
  const std::shared_ptr<RunningJob>& job = trial->second.job;
  JobFacts& facts = tables.Of(*job);
  facts.inbox.emplace_back(trial->first, measurement);
  if (!facts.ended) queue_.Schedule(job);
  tables.pending.erase(trial);
}

void Dispatcher::Deliver(TunerTables& tables, const Digest& uid, const Measurement& measurement) {
  const auto pending = tables.pending.find(uid);
  if (pending != tables.pending.end()) Learn(tables, pending, measurement);
}

void Dispatcher::Abandon(TunerTables& tables, const Digest& uid, const std::string& why) {
  const auto pending = tables.pending.find(uid);
  if (pending == tables.pending.end()) return;
  const std::shared_ptr<RunningJob>& job = pending->second.job;
  context_.logger().warn("job={} task={} given up: {}", job->spec.id.ToText(), uid.ToText(), why);
  context_.metrics().Add(Counter::kTrialsAbandoned);
  JobFacts& facts = tables.Of(*job);
  ++facts.abandoned;
  facts.abandon_reason = why;
  Measurement measurement;
  measurement.detail = why;
  Learn(tables, pending, measurement);
}

int64_t Dispatcher::UnderWay(const TunerTables& tables) {
  // A result that waits for a second measurement stays with its worker, which sends it again.
  int64_t in_doubt = 0;
  for (const auto& [uid, check] : tables.registry.checks) in_doubt += check.confirms ? 1 : 0;
  return tables.leases.counts().leased + tables.leases.counts().received - in_doubt;
}

void Dispatcher::Drain(int64_t timeout_ms) {
  const int64_t deadline = context_.NowMs() + timeout_ms;
  const MutexLock lock(tables_.mutex);
  tables_.draining = true;
  for (auto& [id, job] : tables_.jobs) {
    JobFacts& facts = tables_.Of(*job);
    if (facts.stop == JobStop::kNo) facts.stop = JobStop::kDraining;
  }
  tables_.ScheduleAll(queue_);
  context_.logger().info("draining: {} trials under way", UnderWay(tables_));
  while (UnderWay(tables_) > 0 && context_.NowMs() < deadline) {
    (void)tables_.fewer.WaitFor(tables_.mutex, kDrainLook);
  }
}

}  // namespace mlc::server
