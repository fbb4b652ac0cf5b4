#include "server/tuner/result_intake.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "server/workers/worker_validation.h"

namespace mlc::server {
namespace {

// The log field of a rejected call; its worker name may be anything, and long.
std::string CallFields(const WorkerCall& request) {
  const std::string& name = request.worker;
  return NameProblem(name).empty() ? "worker=" + name : "a worker";
}

// What is needed of a record after its commit; the log takes the record itself.
db::Record KeptOf(const db::Record& record) {
  db::Record kept;
  kept.task_uid = record.task_uid;
  kept.job_id = record.job_id;
  kept.worker = record.worker;
  kept.workload = record.workload;
  kept.measurement = record.measurement;
  return kept;
}

}  // namespace

ResultIntake::ResultIntake(const TunerContext& context, Parts parts)
    : context_(context),
      tables_(parts.tables),
      log_health_(parts.log_health),
      best_(parts.best),
      workers_(parts.workers),
      dispatcher_(parts.dispatcher),
      checks_(parts.checks),
      canaries_(parts.canaries) {}

void ResultIntake::Synchronize(WorkerCall request, SyncCall::Reply reply,
                               const std::string& owner) {
  Status invalid = ValidateSynchronize(request);
  Result<target::Target> target = invalid;
  if (invalid.ok()) {
    target = target::Target::Parse(request.target);
    invalid = target.status().WithPrefix("worker's target");
  }
  if (!invalid.ok()) {
    context_.metrics().AddRejected("invalid");
    context_.logger().warn("{}: call refused: {}", CallFields(request), invalid.message());
    return reply(invalid);
  }
  const auto call = std::make_shared<SyncCall>(std::move(request), std::move(reply),
                                               target->ClassText(), context_.NowMs());
  Status registered;
  {
    const MutexLock lock(tables_.mutex);
    registered = workers_.Register(tables_, *call, owner);
  }
  if (!registered.ok()) {
    context_.metrics().AddRejected("workers");
    context_.logger().warn("{}: call refused: {}", CallFields(call->request), registered.message());
    return call->reply(registered);
  }
  std::vector<db::Record> confirmed;  // results of others that this call has confirmed
  for (const FinishedTrial& result : call->request.finished) Take(call, result, confirmed);
  for (db::Record& record : confirmed) Commit(call, std::move(record));
  Answer(call);
}

bool ResultIntake::Receive(const Call& call, const FinishedTrial& result, db::Record& record,
                           std::vector<db::Record>& confirmed) {
  const Digest& uid = result.uid;
  const Measurement& m = result.measurement;
  const MutexLock lock(tables_.mutex);
  switch (tables_.leases.Receive(uid, result.device_s)) {
    // It is being committed for another call, or waits for its confirmation: the worker hears of it
    // another time.
    case Leases::Receipt::kBeingCommitted:
      return false;
    case Leases::Receipt::kUnknown:
      return true;
    case Leases::Receipt::kFirst:
      break;
  }
  context_.metrics().AddResult(m.outcome);
  RecordTimes(tables_, uid, m);
  if (WorkerInfo* info = tables_.registry.Find(call->worker())) {
    ++info->results;
    if (m.clock_mhz > 0) info->clock_mhz = m.clock_mhz;
  }
  if (tables_.registry.checks.contains(uid)) {
    checks_.Take(tables_, *call, uid, m, confirmed);
    return false;
  }
  record = RecordOf(tables_, *call, uid, m);
  return true;
}

void ResultIntake::Take(const Call& call, const FinishedTrial& result,
                        std::vector<db::Record>& confirmed) {
  db::Record record;
  if (!Receive(call, result, record, confirmed)) return;
  if (record.config.empty()) return TakeUnknown(call, result.uid);
  if (record.measurement.outcome == Outcome::kInfra) {
    return Reject(call, record, Unavailable(record.measurement.detail));
  }
  db::Record without_floor = record;
  without_floor.floor_ns = 0;
  const Status valid = db::Validate(without_floor);
  if (!valid.ok()) return Reject(call, record, valid);
  {
    const MutexLock lock(tables_.mutex);
    tables_.registry.health.RecordResult(record.worker);
    checks_.CompareWithClaim(tables_, record);
    const std::string doubt = checks_.DoubtOf(tables_, record);
    if (!doubt.empty()) return checks_.Confirm(tables_, std::move(record), doubt);
  }
  Commit(call, std::move(record));
}

// Nothing that could be kept: another attempt, perhaps another worker. Only what the worker claims
// to be a result and cannot be one is refused, and held against it.
void ResultIntake::Reject(const Call& call, const db::Record& record, const Status& why) {
  const Digest uid = record.task_uid;
  const bool infra = record.measurement.outcome == Outcome::kInfra;
  context_.logger().warn("{}: {}{}", LogFields(record),
                         infra ? "" : "result refused: ", why.message());
  const MutexLock lock(tables_.mutex);
  if (infra) {
    if (WorkerInfo* info = tables_.registry.Find(record.worker)) ++info->failures;
    call->Acknowledge(uid);
    WorkerHealth& health = tables_.registry.health;
    if (health.RecordFailure(record.worker, why.message(), context_.NowMs())) {
      context_.logger().warn("worker={} quarantined: {}", record.worker,
                             health.SummaryOf(record.worker).why);
    }
  } else {
    call->Refuse(uid, why.message());
    workers_.ReportBadResult(tables_, record.worker, why.message());
  }
  if (!tables_.leases.Retry(uid)) checks_.GiveUp(tables_, uid, why.message());
}

void ResultIntake::Refuse(SyncCall& call, const Digest& uid, const std::string& why) const {
  call.Refuse(uid, why);
  RecordRefusal(call.worker(), uid, why);
}

void ResultIntake::RecordRefusal(const std::string& worker, std::optional<Digest> uid,
                                 const std::string& why) const {
  context_.metrics().Add(Counter::kRejectedResults);
  context_.logger().warn("task={} worker={}: result refused: {}", uid ? uid->ToText() : "?", worker,
                         why);
}

// Build and lease time of the trial.
void ResultIntake::RecordTimes(const TunerTables& tables, const Digest& uid,
                               const Measurement& m) const {
  if (m.build_ms > 0) context_.metrics().Observe(Span::kTrialBuild, m.build_ms / 1e3);
  const auto found = tables.pending.find(uid);
  if (found == tables.pending.end() || found->second.leased_ms == 0) return;
  context_.metrics().Observe(Span::kTrialLease,
                             static_cast<double>(context_.NowMs() - found->second.leased_ms) / 1e3);
}

void ResultIntake::TakeUnknown(const Call& call, const Digest& uid) {
  const Result<std::optional<db::Record>> found = context_.log.Find(uid);
  if (found.ok() && *found) {
    context_.metrics().Add(Counter::kDuplicateResults);
    return call->Acknowledge(uid);
  }
  const MutexLock lock(tables_.mutex);
  if (dispatcher_.RecoveryIsOver(tables_)) {
    Refuse(*call, uid, "no job of this server asks for it any more");
  }
}

// REQUIRES: the trial is pending.
db::Record ResultIntake::RecordOf(const TunerTables& tables, const SyncCall& call,
                                  const Digest& uid, const Measurement& m) const {
  const PendingTrial& pending = tables.pending.at(uid);
  const JobSpec& job = pending.job->spec;
  const auto task = static_cast<size_t>(pending.proposal.task);
  db::Record record;
  record.task_uid = uid;
  record.job_id = job.id;
  record.workload = job.tasks[task].workload;
  record.target = job.target_class;
  record.config = pending.proposal.config.ToText();
  record.measurement = m;
  record.floor_ns = tables.Of(*pending.job).floors_ns[task];
  record.toolchain = call.request.build;
  record.worker = call.worker();
  record.arm = pending.proposal.arm;
  record.predicted_rank = pending.proposal.predicted_rank;
  record.seed = SeedOf(uid, record.job_id, record.workload, pending.proposal);
  record.created_us = context_.WallUs();
  return record;
}

void ResultIntake::Commit(const Call& call, db::Record record) {
  call->Await();
  db::Record kept = KeptOf(record);
  const bool confirms = db::IsConfirmation(record);
  context_.log.Append(std::move(record), [this, call, confirms, kept = std::move(kept)](
                                             const Result<db::Appended>& appended) {
    const Measurement& measurement = kept.measurement;
    if (measurement.outcome == Outcome::kOk) {
      best_.Changed(kept.workload, confirms ? 0 : measurement.median_ns);
    }
    context_.metrics().Observe(Span::kAcknowledge,
                               static_cast<double>(context_.NowMs() - call->arrived_ms) / 1e3);
    if (appended.ok() && *appended == db::Appended::kDuplicate) {
      context_.metrics().Add(Counter::kDuplicateResults);
    }
    // A record that breaks the log's rules says nothing of the log.
    if (appended.status().code() == StatusCode::kInvalidArgument) {
      Reject(call, kept, appended.status());
    } else {
      Committed(call, kept, appended.status());
    }
    Answer(call);
  });
}

void ResultIntake::Committed(const Call& call, const db::Record& record, const Status& status) {
  const Digest& uid = record.task_uid;
  log_health_.Set(status);
  const MutexLock lock(tables_.mutex);
  if (!status.ok()) {
    tables_.leases.Undo(uid);
    return call->Fail(status);
  }
  tables_.leases.Finish(uid);
  call->Acknowledge(uid);
  dispatcher_.Deliver(tables_, uid, record.measurement);
}

// Once all that the answer waits for is there.
void ResultIntake::Answer(const Call& call) {
  std::optional<Result<WorkerOrders>> orders = call->Done();
  if (!orders) return;
  if (!orders->ok()) {
    const bool full = orders->status().code() == StatusCode::kResourceExhausted;
    context_.metrics().AddRejected(full ? "full" : "log");
    return call->reply(orders->status());
  }
  dispatcher_.FillLeases(*call, **orders);
  canaries_.Send(*call);
  call->reply(*std::move(*orders));
}

}  // namespace mlc::server
