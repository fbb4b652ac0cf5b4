// What workers say and hear: results into the log, leases out.
#include <spdlog/spdlog.h>

#include <utility>

#include "server/clock.h"
#include "server/protocol.h"
#include "server/tuner.h"

namespace mlc::server {
namespace {

constexpr int kMaxWant = 1024;
constexpr int64_t kBusyPollMs = 10;
constexpr int64_t kIdlePollMs = 100;
// A restarted server proposes the trials of its jobs again; results and leases of such trials are
// not foreign, only early.
constexpr int64_t kGraceMs = 60'000;

}  // namespace

// Alive until the last commit of its results; `open` counts those, and the call itself.
struct Tuner::Call {
  proto::SynchronizeRequest request;
  Reply reply;
  std::string target_class;
  proto::SynchronizeReply orders;
  Status status;
  int open = 1;
};

void Tuner::Synchronize(const proto::SynchronizeRequest& request, Reply reply) {
  if (request.protocol() != kWireProtocol) {
    return reply(FailedPrecondition("the worker speaks protocol " +
                                    std::to_string(request.protocol()) + ", this server " +
                                    std::to_string(kWireProtocol) + ": upgrade the older one"));
  }
  Result<target::Target> target = target::Target::Parse(request.target());
  if (!target.ok()) return reply(target.status().WithPrefix("worker's target"));
  if (request.worker().empty()) return reply(InvalidArgument("the worker has no name"));
  auto call = std::make_shared<Call>();
  call->request = request;
  call->reply = std::move(reply);
  call->target_class = target->ClassText();
  {
    std::lock_guard lock(mutex_);
    if (targets_.emplace(call->target_class, request.target()).second) {
      options_.logger->info("worker {}: {}", request.worker(), request.target());
      news_ = true;
      wake_.notify_all();
    }
  }
  TakeResults(call);
  Done(call);
}

void Tuner::TakeResults(const std::shared_ptr<Call>& call) {
  for (const proto::TrialResult& result : call->request.finished()) {
    const std::optional<Digest> uid = DigestFromWire(result.task_uid());
    if (!uid) {
      proto::Refusal& refusal = *call->orders.add_refused();
      refusal.set_task_uid(result.task_uid());
      refusal.set_reason("a task_uid has 16 bytes");
      continue;
    }
    TakeResult(call, *uid, FromWire(result.measurement()));
  }
}

void Tuner::TakeResult(const std::shared_ptr<Call>& call, const Digest& uid, const Measurement& m) {
  db::Record record;
  {
    std::lock_guard lock(mutex_);
    const Leases::Receipt receipt = leases_.Receive(uid);
    // Its commit is under way for another call: the worker hears of it next time.
    if (receipt == Leases::Receipt::kBeingCommitted) return;
    if (receipt == Leases::Receipt::kFirst) record = RecordOf(*call, uid, m);
  }
  if (record.config.empty()) return TakeUnknown(call, uid);
  const Status valid = m.outcome == Outcome::kInfra ? Unavailable(m.detail) : db::Validate(record);
  if (valid.ok()) return Commit(call, std::move(record));
  options_.logger->warn("trial {} from {}: {}", uid.ToText(), record.worker, valid.message());
  std::lock_guard lock(mutex_);
  if (!leases_.Retry(uid)) Impossible(uid, valid.message());
  call->orders.add_acknowledged(ToWire(uid));
}

void Tuner::TakeUnknown(const std::shared_ptr<Call>& call, const Digest& uid) {
  const Result<std::optional<db::Record>> found = log_.Find(uid);
  std::lock_guard lock(mutex_);
  if (found.ok() && *found) {
    call->orders.add_acknowledged(ToWire(uid));
  } else if (SteadyMs() - started_ms_ > kGraceMs) {
    proto::Refusal& refusal = *call->orders.add_refused();
    refusal.set_task_uid(ToWire(uid));
    refusal.set_reason("no job of this server asked for it");
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
  record.seed = uid.low;
  record.created_us = WallUs();
  return record;
}

void Tuner::Commit(const std::shared_ptr<Call>& call, db::Record record) {
  {
    std::lock_guard lock(mutex_);
    ++call->open;
  }
  const Digest uid = record.task_uid;
  Measurement measurement = record.measurement;
  log_.Append(std::move(record), [this, call, uid, measurement = std::move(measurement)](
                                     const Result<db::Appended>& appended) {
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
  pending_.erase(pending);
  news_ = true;
  wake_.notify_all();
}

// The trial can never be made: the search hears so, the log does not. REQUIRES mutex_.
void Tuner::Impossible(const Digest& uid, const std::string& why) {
  const auto pending = pending_.find(uid);
  if (pending == pending_.end()) return;
  options_.logger->warn("trial {} given up: {}", uid.ToText(), why);
  Measurement measurement;
  measurement.detail = why;
  pending->second.job->inbox.emplace_back(uid, measurement);
  pending_.erase(pending);
  news_ = true;
  wake_.notify_all();
}

void Tuner::Done(const std::shared_ptr<Call>& call) {
  {
    std::lock_guard lock(mutex_);
    if (--call->open > 0) return;
    if (call->status.ok()) FillLeases(*call);
  }
  if (call->status.ok()) {
    call->reply(std::move(call->orders));
  } else {
    call->reply(call->status);
  }
}

// REQUIRES mutex_.
void Tuner::FillLeases(Call& call) {
  Leases::Contact contact;
  contact.worker = call.request.worker();
  contact.boot = call.request.boot();
  contact.target_class = call.target_class;
  for (const std::string& bytes : call.request.holding()) {
    if (const std::optional<Digest> uid = DigestFromWire(bytes)) contact.holding.push_back(*uid);
  }
  const bool gives = !draining_ && !call.request.draining();
  contact.want = gives ? std::clamp(call.request.want(), 0, kMaxWant) : 0;
  const Leases::Orders orders = leases_.Synchronize(contact, SteadyMs());
  for (const Leases::Grant& grant : orders.grants) {
    const Pending& pending = pending_.at(grant.uid);
    proto::Lease& lease = *call.orders.add_leases();
    lease.set_task_uid(ToWire(grant.uid));
    lease.set_workload(pending.job->workload_texts[static_cast<size_t>(pending.proposal.task)]);
    lease.set_config(pending.proposal.config.ToText());
    lease.set_seed(grant.uid.low);
    lease.set_race_ns(pending.proposal.race_ns);
    lease.set_attempt(grant.attempt);
    lease.set_lease_ms(options_.terms.lease_ms);
  }
  if (SteadyMs() - started_ms_ > kGraceMs) {
    for (const Digest& uid : orders.cancelled) call.orders.add_cancelled(ToWire(uid));
  }
  call.orders.set_next_poll_ms(pending_.empty() ? kIdlePollMs : kBusyPollMs);
  call.orders.set_drain(draining_);
  call.orders.set_timing_lock(options_.timing_lock);
}

}  // namespace mlc::server
