// What becomes of a result: refused, tried again, measured again, or kept in the log.
#include <spdlog/spdlog.h>

#include <utility>

#include "base/clock.h"
#include "base/wire/protocol.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_call.h"
#include "server/tuner/tuner_job.h"

namespace mlc::server {

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
      RecordTimes(uid, m);
      if (WorkerInfo* info = registry_.Find(call->request.worker())) ++info->results;
      if (registry_.checks.contains(uid)) return TakeCheck(call, uid, m);
      record = RecordOf(*call, uid, m);
    }
  }
  if (record.config.empty()) return TakeUnknown(call, uid);
  if (m.outcome == Outcome::kInfra) return RejectResult(call, record, Unavailable(m.detail));
  db::Record without_floor = record;
  without_floor.floor_ns = 0;
  const Status valid = db::Validate(without_floor);
  if (!valid.ok()) return RejectResult(call, record, valid);
  {
    std::lock_guard lock(mutex_);
    registry_.health.RecordResult(record.worker);
    CompareWithClaim(record);
    doubt = DoubtOf(record);
    if (!doubt.empty()) return Confirm(std::move(record), doubt);
  }
  Commit(call, std::move(record));
}

// Nothing that could be kept: another attempt, perhaps another worker. Only what the worker claims
// to be a result and cannot be one is refused, and held against it.
void Tuner::RejectResult(const std::shared_ptr<Call>& call, const db::Record& record,
                         const Status& why) {
  const Digest uid = record.task_uid;
  const bool infra = record.measurement.outcome == Outcome::kInfra;
  options_.logger->warn("{}: {}{}", LogFields(record),
                        infra ? "" : "result refused: ", why.message());
  std::lock_guard lock(mutex_);
  if (infra) {
    if (WorkerInfo* info = registry_.Find(record.worker)) ++info->failures;
    call->orders.add_acknowledged(ToWire(uid));
    if (registry_.health.RecordFailure(record.worker, why.message(), SteadyMs())) {
      options_.logger->warn("worker={} quarantined: {}", record.worker,
                            registry_.health.SummaryOf(record.worker).why);
    }
  } else {
    proto::Refusal& refusal = *call->orders.add_refused();
    refusal.set_task_uid(ToWire(uid));
    refusal.set_reason(why.message());
    ReportBadResult(record.worker, why.message());
  }
  if (!leases_.Retry(uid)) AbandonTrial(uid, why.message());
}

// Never taken, and the worker is to forget it. REQUIRES mutex_.
void Tuner::Refuse(Call& call, const std::string& task_uid, const std::string& why) {
  proto::Refusal& refusal = *call.orders.add_refused();
  refusal.set_task_uid(task_uid);
  refusal.set_reason(why);
  options_.metrics->Add(Counter::kRejectedResults);
  const std::optional<Digest> uid = DigestFromWire(task_uid);
  options_.logger->warn("task={} worker={}: result refused: {}", uid ? uid->ToText() : "?",
                        call.request.worker(), why);
}

void Tuner::RecordForeignResult(const std::string& worker, const std::string& task_uid) const {
  options_.metrics->Add(Counter::kRejectedResults);
  const std::optional<Digest> uid = DigestFromWire(task_uid);
  options_.logger->warn("task={} worker={}: result refused: the trial was given to another worker",
                        uid ? uid->ToText() : "?", worker);
}

// Records build and lease time of the trial. REQUIRES mutex_.
void Tuner::RecordTimes(const Digest& uid, const Measurement& m) {
  if (m.build_ms > 0) options_.metrics->Observe(Span::kTrialBuild, m.build_ms / 1e3);
  const auto found = pending_.find(uid);
  if (found == pending_.end() || found->second.leased_ms == 0) return;
  options_.metrics->Observe(Span::kTrialLease,
                            static_cast<double>(SteadyMs() - found->second.leased_ms) / 1e3);
}

void Tuner::TakeUnknown(const std::shared_ptr<Call>& call, const Digest& uid) {
  const Result<std::optional<db::Record>> found = log_.Find(uid);
  std::lock_guard lock(mutex_);
  if (found.ok() && *found) {
    options_.metrics->Add(Counter::kDuplicateResults);
    call->orders.add_acknowledged(ToWire(uid));
  } else if (RecoveryIsOver()) {
    Refuse(*call, ToWire(uid), "no job of this server asks for it any more");
  }
}

// REQUIRES mutex_; the trial is pending.
db::Record Tuner::RecordOf(const Call& call, const Digest& uid, const Measurement& m) const {
  const Pending& pending = pending_.at(uid);
  const auto task = static_cast<size_t>(pending.proposal.task);
  db::Record record;
  record.task_uid = uid;
  record.job_id = pending.job->row.id;
  record.workload = pending.job->row.tasks[task].workload;
  record.target = pending.job->target_class;
  record.config = pending.proposal.config.ToText();
  record.measurement = m;
  record.floor_ns = pending.job->floors_ns[task];
  record.toolchain = call.request.build();
  record.worker = call.request.worker();
  record.arm = pending.proposal.arm;
  record.predicted_rank = pending.proposal.predicted_rank;
  record.seed = SeedOf(uid, record.job_id, record.workload, pending.proposal);
  record.created_us = WallUs();
  return record;
}

void Tuner::Commit(const std::shared_ptr<Call>& call, db::Record record) {
  {
    std::lock_guard lock(mutex_);
    ++call->open;
  }
  // What is needed of it afterwards; the log takes the record itself.
  db::Record kept;
  kept.task_uid = record.task_uid;
  kept.job_id = record.job_id;
  kept.worker = record.worker;
  kept.workload = record.workload;
  kept.measurement = record.measurement;
  const bool confirms = db::IsConfirmation(record);
  log_.Append(std::move(record),
              [this, call, confirms, kept = std::move(kept)](const Result<db::Appended>& appended) {
                const Measurement& measurement = kept.measurement;
                if (measurement.outcome == Outcome::kOk) {
                  best_cache_.Changed(kept.workload, confirms ? 0 : measurement.median_ns);
                }
                options_.metrics->Observe(Span::kAcknowledge,
                                          static_cast<double>(SteadyMs() - call->arrived_ms) / 1e3);
                if (appended.ok() && *appended == db::Appended::kDuplicate) {
                  options_.metrics->Add(Counter::kDuplicateResults);
                }
                // A record that breaks the log's rules says nothing of the log.
                if (appended.status().code() == StatusCode::kInvalidArgument) {
                  RejectResult(call, kept, appended.status());
                } else {
                  Committed(call, kept, appended.status());
                }
                Done(call);
              });
}

void Tuner::Committed(const std::shared_ptr<Call>& call, const db::Record& record,
                      const Status& status) {
  const Digest& uid = record.task_uid;
  std::lock_guard lock(mutex_);
  // A worker sends its results until they are kept: a disk that has space again ends the trouble.
  log_status_ = status;
  if (!status.ok()) {
    leases_.Undo(uid);
    call->status = status;
    return;
  }
  leases_.Finish(uid);
  call->orders.add_acknowledged(ToWire(uid));
  const auto pending = pending_.find(uid);
  if (pending == pending_.end()) return;
  pending->second.job->inbox.emplace_back(uid, record.measurement);
  Schedule(pending->second.job);
  pending_.erase(pending);
}

// Gives the trial up: the search learns it, the log does not. REQUIRES mutex_.
void Tuner::AbandonTrial(const Digest& uid, const std::string& why) {
  if (registry_.checks.contains(uid)) return CheckEnded(uid, why);
  const auto pending = pending_.find(uid);
  if (pending == pending_.end()) return;
  options_.logger->warn("job={} task={} given up: {}", pending->second.job->row.id.ToText(),
                        uid.ToText(), why);
  options_.metrics->Add(Counter::kTrialsAbandoned);
  Job& job = *pending->second.job;
  ++job.abandoned;
  job.abandon_reason = why;
  Measurement measurement;
  measurement.detail = why;
  job.inbox.emplace_back(uid, measurement);
  Schedule(pending->second.job);
  pending_.erase(pending);
}

}  // namespace mlc::server
