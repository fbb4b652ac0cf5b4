#include "server/tuner/trial_checks.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/tuner/canaries.h"
#include "server/tuner/trial_needs.h"
#include "server/tuner/worker_sessions.h"
#include "server/workers/plausibility.h"

namespace mlc::server {

void TrialChecks::CompareWithClaim(TunerTables& tables, const db::Record& record) {
  const Claim& claim = tables.pending.at(record.task_uid).claim;
  if (claim.worker.empty() || claim.worker == record.worker) return;
  if (record.measurement.outcome != Outcome::kOk) return;
  if (!Contradicts(claim.ns, record.measurement.median_ns)) return;
  const std::string why = std::to_string(claim.ns / 1e3) + " us for what takes worker " +
                          record.worker + " " + std::to_string(record.measurement.median_ns / 1e3) +
                          " us";
  context_.logger().warn("{}: worker {} claimed {}", LogFields(record), claim.worker, why);
  context_.metrics().Add(Counter::kSuspectResults);
  workers_.ReportBadResult(tables, claim.worker, why);
}

std::string TrialChecks::DoubtOf(const TunerTables& tables, const db::Record& record) const {
  const PendingTrial& pending = tables.pending.at(record.task_uid);
  const std::vector<TaskFigures>& tasks = tables.Of(*pending.job).progress.tasks;
  Known known;
  known.floor_ns = record.floor_ns;
  known.predicted_ns = pending.proposal.predicted_ns;
  const auto task = static_cast<size_t>(pending.proposal.task);
  if (task < tasks.size()) {
    known.best_ns = tasks[task].best_ns;
    known.results = tasks[task].trials;
  }
  return Doubt(record.measurement, known);
}

void TrialChecks::Confirm(TunerTables& tables, db::Record claim, const std::string& doubt) const {
  const Digest uid = DigestOf("second measurement\n" + claim.task_uid.ToText());
  const PendingTrial& pending = tables.pending.at(claim.task_uid);
  const Needs needs = NeedsOf(pending.job->spec, tables.Of(*pending.job), pending.proposal);
  context_.logger().warn("{}: {}: measured again", LogFields(claim), doubt);
  context_.metrics().Add(Counter::kSuspectResults);
  Check check;
  check.confirms = true;
  check.workload = pending.job->spec.workload_texts[static_cast<size_t>(pending.proposal.task)];
  check.config = claim.config;
  check.seed = uid.low;  // other inputs
  check.worker = claim.worker;
  check.doubt = doubt;
  // No other worker: the same worker, with other inputs.
  const bool others = tables.leases.workers().CountFor(needs) > 1;
  const int64_t until = others ? context_.NowMs() + context_.options.confirm_wait_ms : 0;
  check.claim = std::move(claim);
  (void)tables.leases.Add({uid, kCheckJobId, needs, {}, check.worker, until});
  tables.registry.checks[uid] = std::move(check);
  WorkerSessions::Wake(tables, needs.target_class);
}

void TrialChecks::Take(TunerTables& tables, SyncCall& call, const Digest& uid, const Measurement& m,
                       std::vector<db::Record>& confirmed) {
  // Not in the log under this id: there is nothing to send again.
  call.Acknowledge(uid);
  WorkerRegistry& registry = tables.registry;
  const Check& check = registry.checks.at(uid);
  if (check.confirms && m.outcome == Outcome::kInfra) {
    if (WorkerInfo* info = registry.Find(call.worker())) ++info->failures;
    if (!tables.leases.Retry(uid)) {
      CheckEnded(tables, uid, "no worker could measure it again: " + m.detail);
    }
    return;
  }
  tables.leases.Finish(uid);
  const Check ended = check;
  registry.checks.erase(uid);
  if (ended.confirms) return TakeConfirmation(tables, call, ended, m, confirmed);
  TakeCanary(tables, ended, m);
}

void TrialChecks::TakeCanary(TunerTables& tables, const Check& check, const Measurement& m) const {
  const Status outcome = EvaluateCanary(m, check.expected_ns, check.factor);
  const bool isolated = tables.registry.health.CanaryEnded(check.worker, outcome, context_.NowMs());
  if (outcome.ok()) return context_.logger().info("worker={}: canary passed", check.worker);
  context_.metrics().Add(Counter::kCanaryFailures);
  context_.logger().warn("worker={}: canary failed: {}{}", check.worker, outcome.message(),
                         isolated ? "; quarantined" : "");
}

void TrialChecks::TakeConfirmation(TunerTables& tables, const SyncCall& call, const Check& check,
                                   const Measurement& m, std::vector<db::Record>& confirmed) {
  const std::string& second = call.worker();
  db::Record record = check.claim;
  const bool same = second == check.worker;
  const std::string by = same ? "the same worker with other inputs" : "worker " + second;
  switch (Compare(record.measurement, m, record.floor_ns)) {
    case Confirmation::kAgrees:
      record.measurement = Slower(record.measurement, m, "confirmed by " + by);
      break;
    case Confirmation::kDiffers:
      if (!same && m.outcome == Outcome::kOk) {
        workers_.ReportBadResult(tables, check.worker, check.doubt);
      }
      record.measurement = m;
      record.worker = second;
      record.toolchain = call.request.build;
      break;
    case Confirmation::kImpossible:
      if (same) workers_.ReportBadResult(tables, check.worker, check.doubt);
      tables.leases.Quarantine(record.task_uid);
      return dispatcher_.Abandon(
          tables, record.task_uid,
          "measured twice: " + check.doubt + "; the calibration or the check of results is wrong");
  }
  const auto pending = tables.pending.find(record.task_uid);
  if (pending == tables.pending.end()) return tables.leases.Finish(record.task_uid);
  const auto task = static_cast<size_t>(pending->second.proposal.task);
  record.floor_ns = tables.Of(*pending->second.job).floors_ns[task];
  if (const Status valid = db::Validate(record); !valid.ok()) {
    if (!tables.leases.Retry(record.task_uid)) {
      dispatcher_.Abandon(tables, record.task_uid, valid.message());
    }
    return;
  }
  confirmed.push_back(std::move(record));
}

void TrialChecks::GiveUp(TunerTables& tables, const Digest& uid, const std::string& why) {
  if (tables.registry.checks.contains(uid)) {
    CheckEnded(tables, uid, why);
  } else {
    dispatcher_.Abandon(tables, uid, why);
  }
}

// The check itself can have no result.
void TrialChecks::CheckEnded(TunerTables& tables, const Digest& uid, const std::string& why) {
  const auto found = tables.registry.checks.find(uid);
  const Check check = found->second;
  tables.registry.checks.erase(found);
  if (!check.confirms) return tables.registry.health.CanaryLost(check.worker);
  tables.leases.Quarantine(check.claim.task_uid);
  dispatcher_.Abandon(tables, check.claim.task_uid, check.doubt + "; not confirmed: " + why);
}

}  // namespace mlc::server
