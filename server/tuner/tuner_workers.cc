// Calls of workers: registration, and leases to run.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/wire/protocol.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_call.h"
#include "server/tuner/tuner_job.h"
#include "server/workers/worker_validation.h"

namespace mlc::server {
namespace {

constexpr int kMaxWant = 1024;
constexpr int kMostDevices = 1024;
constexpr int64_t kBusyPollMs = 10;
constexpr int64_t kIdlePollMs = 100;
// All workers together that are only waiting call this often at most; those with a session are
// woken.
constexpr int64_t kPollsPerSecond = 500;
constexpr int64_t kLongestPollMs = 5'000;
// A restarted server proposes the trials of its jobs again; results and leases of such trials are
// not foreign, only early.
constexpr int64_t kGraceMs = 60'000;

Offer OfferOf(const proto::SynchronizeRequest& request, const std::string& target_class) {
  Offer offer;
  offer.target_class = target_class;
  offer.memory_bytes = request.capabilities().memory_bytes();
  offer.kernels.insert(request.capabilities().kernels().begin(),
                       request.capabilities().kernels().end());
  offer.devices = std::clamp(request.capabilities().devices(), 1, kMostDevices);
  return offer;
}

// The log field of a rejected call; its worker name may be anything, and long.
std::string LogFields(const proto::SynchronizeRequest& request) {
  const std::string& name = request.worker();
  return NameProblem(name).empty() ? "worker=" + name : "a worker";
}

}  // namespace

void Tuner::Synchronize(proto::SynchronizeRequest request, Reply reply, const std::string& owner) {
  if (const Status version = CheckProtocol("worker", request.protocol()); !version.ok()) {
    options_.metrics->AddRejected("version");
    return reply(version);
  }
  Status invalid = ValidateSynchronize(request);
  Result<target::Target> target = invalid;
  if (invalid.ok()) {
    target = target::Target::Parse(request.target());
    invalid = target.status().WithPrefix("worker's target");
  }
  if (!invalid.ok()) {
    options_.metrics->AddRejected("invalid");
    options_.logger->warn("{}: call refused: {}", LogFields(request), invalid.message());
    return reply(invalid);
  }
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->reply = std::move(reply);
  call->target_class = target->ClassText();
  call->arrived_ms = SteadyMs();
  Status registered;
  {
    std::lock_guard lock(mutex_);
    registered = RegisterWorker(*call, owner);
  }
  if (!registered.ok()) {
    options_.metrics->AddRejected("workers");
    options_.logger->warn("{}: call refused: {}", LogFields(call->request), registered.message());
    return call->reply(registered);
  }
  TakeResults(call);
  Done(call);
}

// REQUIRES mutex_.
Status Tuner::RegisterWorker(const Call& call, const std::string& owner) {
  const proto::SynchronizeRequest& request = call.request;
  MLC_TRY(registry_.roster.RecordContact(request.worker(), owner, SteadyMs()));
  registry_.health.RecordContact(request.worker(), request.incarnation(), SteadyMs());
  WorkerInfo& info = registry_.workers[request.worker()];
  info.called_ms = SteadyMs();
  info.draining = request.draining();
  if (info.incarnation != request.incarnation()) {
    options_.logger->info("worker={}: {} build {}", request.worker(), request.target(),
                          request.build());
    info.incarnation = request.incarnation();
  }
  info.target = request.target();
  info.build = request.build();
  info.capabilities = request.capabilities();
  info.use = request.device_use();
  if (!info.offer.target_class.empty() && info.offer.target_class != call.target_class) {
    const auto idle = registry_.idle.find(info.offer.target_class);
    if (idle != registry_.idle.end()) idle->second.erase(request.worker());
    registry_.classes_change = true;
  }
  info.offer = OfferOf(request, call.target_class);
  if (targets_.emplace(call.target_class, request.target()).second) ScheduleAll();
  return Status();
}

void Tuner::Done(const std::shared_ptr<Call>& call) {
  {
    std::lock_guard lock(mutex_);
    if (--call->open > 0) return;
    if (call->status.ok()) FillLeases(*call);
  }
  if (!call->status.ok()) {
    const bool full = call->status.code() == StatusCode::kResourceExhausted;
    options_.metrics->AddRejected(full ? "full" : "log");
    return call->reply(call->status);
  }
  SendCanary(*call);
  call->reply(std::move(call->orders));
}

// Whether a trial that no job has asked for is foreign, not only early. REQUIRES mutex_.
bool Tuner::RecoveryIsOver() const { return SteadyMs() - started_ms_ > kGraceMs && !CatchingUp(); }

// REQUIRES mutex_.
void Tuner::FillLeases(Call& call) {
  const proto::SynchronizeRequest& request = call.request;
  // A commit took so long that the worker is forgotten: it makes itself known with its next call.
  const WorkerInfo* info = registry_.Find(request.worker());
  if (info == nullptr) return call.orders.set_next_poll_ms(kIdlePollMs);
  Leases::Contact contact;
  contact.worker = request.worker();
  contact.incarnation = request.incarnation();
  contact.sequence = request.sequence();
  contact.offer = info->offer;
  for (const std::string& bytes : request.holding()) {
    if (const std::optional<Digest> uid = DigestFromWire(bytes)) contact.holding.push_back(*uid);
  }
  const bool drains = request.draining() || registry_.health.Draining(request.worker());
  contact.draining = drains;
  contact.want = draining_ || drains ? 0 : std::clamp(request.want(), 0, kMaxWant);
  contact.trusted = registry_.health.IsReady(request.worker());
  contact.quarantined =
      registry_.health.SummaryOf(request.worker()).state == WorkerHealth::State::kQuarantined;
  const Leases::Orders orders = leases_.Synchronize(contact, SteadyMs());
  call.orders.set_stale(orders.stale);
  for (const Leases::Grant& grant : orders.grants) Fill(grant, *call.orders.add_leases());
  for (const LeasePayment& one : orders.paid) {
    options_.metrics->Observe(Span::kTrialDevice, one.device_s);
  }
  options_.metrics->Add(Counter::kLeasesGranted, static_cast<int64_t>(orders.grants.size()));
  if (RecoveryIsOver()) {
    for (const Digest& uid : orders.cancelled) call.orders.add_cancelled(ToWire(uid));
  }
  std::set<std::string>& idle = registry_.idle[call.target_class];
  if (static_cast<int>(orders.grants.size()) < contact.want) {
    idle.insert(request.worker());
  } else {
    idle.erase(request.worker());
  }
  call.orders.set_next_poll_ms(NextPollMs(call));
  call.orders.set_drain(draining_ || registry_.health.Draining(request.worker()));
  call.orders.set_timing_lock(options_.timing_lock);
}

// REQUIRES mutex_.
void Tuner::Fill(const Leases::Grant& grant, proto::Lease& lease) {
  lease.set_task_uid(ToWire(grant.uid));
  lease.set_attempt(grant.attempt);
  lease.set_lease_ms(options_.terms.lease_ms);
  if (const auto check = registry_.checks.find(grant.uid); check != registry_.checks.end()) {
    lease.set_workload(check->second.workload);
    lease.set_config(check->second.config);
    lease.set_seed(check->second.seed);
    return;
  }
  Pending& pending = pending_.at(grant.uid);
  const int64_t now = SteadyMs();
  // Later attempts did not wait in the queue of proposals.
  if (pending.leased_ms == 0) {
    options_.metrics->Observe(Span::kTrialQueue,
                              static_cast<double>(now - pending.queued_ms) / 1e3);
  }
  pending.leased_ms = now;
  const auto task = static_cast<size_t>(pending.proposal.task);
  const db::JobRow& job = pending.job->row;
  lease.set_workload(pending.job->workload_texts[task]);
  lease.set_config(pending.proposal.config.ToText());
  lease.set_seed(SeedOf(grant.uid, job.id, job.tasks[task].workload, pending.proposal));
  lease.set_early_stop_ns(pending.proposal.early_stop_ns);
}

// REQUIRES mutex_.
int64_t Tuner::NextPollMs(const Call& call) const {
  const int64_t least = pending_.empty() ? kIdlePollMs : kBusyPollMs;
  // Its results wait for a confirmation: that takes a while.
  const auto session = registry_.sessions.find(call.request.worker());
  if (session != registry_.sessions.end() &&
      session->second.incarnation == call.request.incarnation() &&
      call.request.finished_size() == 0 && call.orders.leases_size() == 0) {
    return std::min(kLongestPollMs, std::max(least, options_.terms.lease_ms / 4));
  }
  return std::clamp(registry_.roster.live() * 1000 / kPollsPerSecond, least, kLongestPollMs);
}

}  // namespace mlc::server
