// What workers say and hear: results into the log, leases out.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/clock.h"
#include "server/protocol.h"
#include "server/tuner.h"
#include "server/tuner_call.h"
#include "server/tuner_job.h"

namespace mlc::server {
namespace {

constexpr int kMaxWant = 1024;
constexpr int kMostDevices = 1024;
constexpr int64_t kBusyPollMs = 10;
constexpr int64_t kIdlePollMs = 100;
// All workers together that are only waiting call this often at most; those that attend are woken.
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

}  // namespace

void Tuner::Synchronize(const proto::SynchronizeRequest& request, Reply reply) {
  if (const Status version = CheckProtocol("worker", request.protocol()); !version.ok()) {
    options_.metrics->AddRejected("version");
    return reply(version);
  }
  Result<target::Target> target = target::Target::Parse(request.target());
  Status invalid = target.status().WithPrefix("worker's target");
  if (request.worker().empty()) invalid = InvalidArgument("the worker has no name");
  if (request.boot().empty()) {
    invalid = InvalidArgument(
        "worker " + request.worker() +
        " names no boot: it has to be new for each start of its process, so that leases of an "
        "earlier one are taken back");
  }
  if (!invalid.ok()) {
    options_.metrics->AddRejected("invalid");
    options_.logger->warn("worker={}: call refused: {}", request.worker(), invalid.message());
    return reply(invalid);
  }
  auto call = std::make_shared<Call>();
  call->request = request;
  call->reply = std::move(reply);
  call->target_class = target->ClassText();
  call->arrived_ms = SteadyMs();
  {
    std::lock_guard lock(mutex_);
    Note(*call);
  }
  TakeResults(call);
  Done(call);
}

// REQUIRES mutex_.
void Tuner::Note(const Call& call) {
  const proto::SynchronizeRequest& request = call.request;
  desk_.standings.Met(request.worker(), request.boot(), SteadyMs());
  WorkerNote& note = desk_.notes[request.worker()];
  note.called_ms = SteadyMs();
  note.leaving = request.draining();
  if (note.boot != request.boot()) {
    options_.logger->info("worker={}: {} build {}", request.worker(), request.target(),
                          request.build());
    note.boot = request.boot();
  }
  note.target = request.target();
  note.build = request.build();
  note.capabilities = request.capabilities();
  note.use = request.device_use();
  note.offer = OfferOf(request, call.target_class);
  if (targets_.emplace(call.target_class, request.target()).second) StirAll();
}

void Tuner::TakeResults(const std::shared_ptr<Call>& call) {
  for (const proto::TrialResult& result : call->request.finished()) {
    const std::optional<Digest> uid = DigestFromWire(result.task_uid());
    if (!uid) {
      std::lock_guard lock(mutex_);
      Refuse(*call, result.task_uid(), "a task_uid has 16 bytes");
      continue;
    }
    TakeResult(call, *uid, result);
  }
  for (db::Record& record : call->confirmed) Commit(call, std::move(record));
}

void Tuner::TakeResult(const std::shared_ptr<Call>& call, const Digest& uid,
                       const proto::TrialResult& result) {
  const Measurement m = FromWire(result.measurement());
  db::Record record;
  std::string doubt;
  {
    std::lock_guard lock(mutex_);
    const Leases::Receipt receipt = leases_.Receive(uid, DeviceSeconds(result));
    // It is being committed for another call, or waits for its confirmation: the worker hears of
    // it another time.
    if (receipt == Leases::Receipt::kBeingCommitted) return;
    if (receipt == Leases::Receipt::kFirst) {
      options_.metrics->AddResult(m.outcome);
      NoteTimes(uid, m);
      ++desk_.notes[call->request.worker()].results;
      if (desk_.checks.contains(uid)) return TakeCheck(call, uid, m);
      record = RecordOf(*call, uid, m);
    }
  }
  if (record.config.empty()) return TakeUnknown(call, uid);
  if (m.outcome == Outcome::kInfra) return Unusable(call, record, Unavailable(m.detail));
  db::Record without_floor = record;
  without_floor.floor_ns = 0;
  const Status valid = db::Validate(without_floor);
  if (!valid.ok()) return Unusable(call, record, valid);
  {
    std::lock_guard lock(mutex_);
    desk_.standings.Delivered(record.worker);
    doubt = DoubtOf(record);
    if (!doubt.empty()) return Confirm(std::move(record), doubt);
  }
  Commit(call, std::move(record));
}

// Nothing that could be kept: another attempt, perhaps another worker. Only what the worker claims
// to be a result and cannot be one is refused, and held against it.
void Tuner::Unusable(const std::shared_ptr<Call>& call, const db::Record& record,
                     const Status& why) {
  const Digest uid = record.task_uid;
  const bool infra = record.measurement.outcome == Outcome::kInfra;
  options_.logger->warn("{}: {}{}", WordsOf(record),
                        infra ? "" : "result refused: ", why.message());
  std::lock_guard lock(mutex_);
  if (infra) {
    ++desk_.notes[record.worker].failures;
    call->orders.add_acknowledged(ToWire(uid));
    if (desk_.standings.Failed(record.worker, why.message(), SteadyMs())) {
      options_.logger->warn("worker={} quarantined: {}", record.worker,
                            desk_.standings.LineOf(record.worker).why);
    }
  } else {
    proto::Refusal& refusal = *call->orders.add_refused();
    refusal.set_task_uid(ToWire(uid));
    refusal.set_reason(why.message());
    ToldFalsely(record.worker, why.message());
  }
  if (!leases_.Retry(uid)) Impossible(uid, why.message());
}

// Never taken, and the worker is to forget it. REQUIRES mutex_.
void Tuner::Refuse(Call& call, const std::string& task_uid, const std::string& why) {
  proto::Refusal& refusal = *call.orders.add_refused();
  refusal.set_task_uid(task_uid);
  refusal.set_reason(why);
  options_.metrics->Add(Counter::kRefusedResults);
  const std::optional<Digest> uid = DigestFromWire(task_uid);
  options_.logger->warn("task={} worker={}: result refused: {}", uid ? uid->ToText() : "?",
                        call.request.worker(), why);
}

void Tuner::RefusedForeign(const std::string& worker, const std::string& task_uid) const {
  options_.metrics->Add(Counter::kRefusedResults);
  const std::optional<Digest> uid = DigestFromWire(task_uid);
  options_.logger->warn("task={} worker={}: result refused: the trial was given to another worker",
                        uid ? uid->ToText() : "?", worker);
}

// How long the trial's way took so far. REQUIRES mutex_.
void Tuner::NoteTimes(const Digest& uid, const Measurement& m) {
  if (m.build_ms > 0) options_.metrics->Observe(Span::kTaskBuild, m.build_ms / 1e3);
  const auto found = pending_.find(uid);
  if (found == pending_.end() || found->second.leased_ms == 0) return;
  options_.metrics->Observe(Span::kTaskLease,
                            static_cast<double>(SteadyMs() - found->second.leased_ms) / 1e3);
}

void Tuner::TakeUnknown(const std::shared_ptr<Call>& call, const Digest& uid) {
  const Result<std::optional<db::Record>> found = log_.Find(uid);
  std::lock_guard lock(mutex_);
  if (found.ok() && *found) {
    options_.metrics->Add(Counter::kDuplicateResults);
    call->orders.add_acknowledged(ToWire(uid));
  } else if (SteadyMs() - started_ms_ > kGraceMs && !CatchingUp()) {
    Refuse(*call, ToWire(uid), "no job of this server asks for it any more");
  }
}

// REQUIRES mutex_; the trial is pending.
db::Record Tuner::RecordOf(const Call& call, const Digest& uid, const Measurement& m) const {
  const Pending& pending = pending_.at(uid);
  const auto task = static_cast<size_t>(pending.proposal.task);
  db::Record record;
  record.task_uid = uid;
  record.study = pending.job->row.id;
  record.workload = pending.job->row.tasks[task].workload;
  record.target = pending.job->target_class;
  record.config = pending.proposal.config.ToText();
  record.measurement = m;
  record.floor_ns = pending.job->floors_ns[task];
  record.toolchain = call.request.build();
  record.worker = call.request.worker();
  record.arm = pending.proposal.arm;
  record.predicted_rank = pending.proposal.predicted_rank;
  record.seed = SeedOf(uid, record.study, record.workload, pending.proposal);
  record.created_us = WallUs();
  return record;
}

void Tuner::Commit(const std::shared_ptr<Call>& call, db::Record record) {
  {
    std::lock_guard lock(mutex_);
    ++call->open;
  }
  const Digest uid = record.task_uid;
  const Digest workload = record.workload;
  Measurement measurement = record.measurement;
  const bool confirms = db::IsConfirmation(record);
  log_.Append(std::move(record),
              [this, call, uid, workload, confirms,
               measurement = std::move(measurement)](const Result<db::Appended>& appended) {
                if (measurement.outcome == Outcome::kOk) {
                  best_cache_.Changed(workload, confirms ? 0 : measurement.median_ns);
                }
                options_.metrics->Observe(Span::kAcknowledge,
                                          static_cast<double>(SteadyMs() - call->arrived_ms) / 1e3);
                if (appended.ok() && *appended == db::Appended::kDuplicate) {
                  options_.metrics->Add(Counter::kDuplicateResults);
                }
                Committed(call, uid, measurement, appended.status());
                Done(call);
              });
}

void Tuner::Committed(const std::shared_ptr<Call>& call, const Digest& uid, const Measurement& m,
                      const Status& status) {
  std::lock_guard lock(mutex_);
  // A worker sends its results until they are kept: a disk that has space again ends the trouble.
  trouble_ = status;
  if (!status.ok()) {
    leases_.Undo(uid);
    call->status = status;
    return;
  }
  leases_.Finish(uid);
  call->orders.add_acknowledged(ToWire(uid));
  const auto pending = pending_.find(uid);
  if (pending == pending_.end()) return;
  pending->second.job->inbox.emplace_back(uid, m);
  Stir(pending->second.job);
  pending_.erase(pending);
}

// The trial can never be made: the search hears so, the log does not. REQUIRES mutex_.
void Tuner::Impossible(const Digest& uid, const std::string& why) {
  if (desk_.checks.contains(uid)) return CheckEnded(uid, why);
  const auto pending = pending_.find(uid);
  if (pending == pending_.end()) return;
  options_.logger->warn("job={} task={} given up: {}", pending->second.job->row.id.ToText(),
                        uid.ToText(), why);
  options_.metrics->Add(Counter::kTrialsQuarantined);
  Measurement measurement;
  measurement.detail = why;
  pending->second.job->inbox.emplace_back(uid, measurement);
  Stir(pending->second.job);
  pending_.erase(pending);
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

// REQUIRES mutex_.
void Tuner::FillLeases(Call& call) {
  const proto::SynchronizeRequest& request = call.request;
  Leases::Contact contact;
  contact.worker = request.worker();
  contact.boot = request.boot();
  contact.sequence = request.sequence();
  contact.offer = desk_.notes[request.worker()].offer;
  for (const std::string& bytes : request.holding()) {
    if (const std::optional<Digest> uid = DigestFromWire(bytes)) contact.holding.push_back(*uid);
  }
  const bool leaves = request.draining() || desk_.standings.Draining(request.worker());
  contact.leaving = leaves;
  contact.want = draining_ || leaves ? 0 : std::clamp(request.want(), 0, kMaxWant);
  contact.trusted = desk_.standings.MayWork(request.worker());
  const Leases::Orders orders = leases_.Synchronize(contact, SteadyMs());
  call.orders.set_stale(orders.stale);
  for (const Leases::Grant& grant : orders.grants) Fill(grant, *call.orders.add_leases());
  for (const LeasePayment& one : orders.paid) {
    options_.metrics->Observe(Span::kTaskDevice, one.device_s);
  }
  options_.metrics->Add(Counter::kLeasesGranted, static_cast<int64_t>(orders.grants.size()));
  if (SteadyMs() - started_ms_ > kGraceMs && !CatchingUp()) {
    for (const Digest& uid : orders.cancelled) call.orders.add_cancelled(ToWire(uid));
  }
  std::set<std::string>& idle = desk_.idle[call.target_class];
  if (static_cast<int>(orders.grants.size()) < contact.want) {
    idle.insert(request.worker());
  } else {
    idle.erase(request.worker());
  }
  call.orders.set_next_poll_ms(NextPollMs(call));
  call.orders.set_drain(draining_ || desk_.standings.Draining(request.worker()));
  call.orders.set_timing_lock(options_.timing_lock);
}

// REQUIRES mutex_.
void Tuner::Fill(const Leases::Grant& grant, proto::Lease& lease) {
  lease.set_task_uid(ToWire(grant.uid));
  lease.set_attempt(grant.attempt);
  lease.set_lease_ms(options_.terms.lease_ms);
  if (const auto check = desk_.checks.find(grant.uid); check != desk_.checks.end()) {
    lease.set_workload(check->second.workload);
    lease.set_config(check->second.config);
    lease.set_seed(check->second.seed);
    return;
  }
  Pending& pending = pending_.at(grant.uid);
  const int64_t now = SteadyMs();
  // Of later attempts, nobody waited for the search.
  if (pending.leased_ms == 0) {
    options_.metrics->Observe(Span::kTaskQueue, static_cast<double>(now - pending.queued_ms) / 1e3);
  }
  pending.leased_ms = now;
  const auto task = static_cast<size_t>(pending.proposal.task);
  const db::JobRow& job = pending.job->row;
  lease.set_workload(pending.job->workload_texts[task]);
  lease.set_config(pending.proposal.config.ToText());
  lease.set_seed(SeedOf(grant.uid, job.id, job.tasks[task].workload, pending.proposal));
  lease.set_race_ns(pending.proposal.race_ns);
}

// REQUIRES mutex_.
int64_t Tuner::NextPollMs(const Call& call) const {
  const int64_t least = pending_.empty() ? kIdlePollMs : kBusyPollMs;
  // Its results wait for a confirmation: that takes a while.
  const auto attends = desk_.attendants.find(call.request.worker());
  if (attends != desk_.attendants.end() && attends->second.boot == call.request.boot() &&
      call.request.finished_size() == 0 && call.orders.leases_size() == 0) {
    return std::min(kLongestPollMs, std::max(least, options_.terms.lease_ms / 4));
  }
  const auto workers = static_cast<int64_t>(desk_.notes.size());
  return std::clamp(workers * 1000 / kPollsPerSecond, least, kLongestPollMs);
}

}  // namespace mlc::server
