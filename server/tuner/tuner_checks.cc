// Trials that test workers: canaries, and second measurements of results that are hard to believe.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/wire/protocol.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "costmodel/default_config.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_call.h"
#include "server/tuner/tuner_job.h"
#include "server/workers/plausibility.h"

namespace mlc::server {
namespace {

// Checks are of no job: users share the workers with them as with one more user.
constexpr Digest kCheckJobId{0, 1};
// Workloads of jobs that are looked at for a known trial.
constexpr size_t kKnownWorkloads = 4;
// A class of CPUs has slower and faster ones, and neighbours; a class of GPUs is one model.
constexpr double kSameCpu = 3;
constexpr double kSameGpu = 1.5;

constexpr char kSmallTrial[] =
    "workload v1 tolerance=1e-04 {\n"
    "%0 = input() : f32[64,64]\n"
    "%1 = weight() : f32[64,64]\n"
    "%2 = matmul(%0, %1) : f32[64,64]\n"
    "return %2\n}\n";

}  // namespace

// REQUIRES mutex_; the trial is pending.
std::string Tuner::DoubtOf(const db::Record& record) const {
  const Pending& pending = pending_.at(record.task_uid);
  Known known;
  known.floor_ns = record.floor_ns;
  known.predicted_ns = pending.proposal.predicted_ns;
  if (pending.proposal.task < pending.job->progress.tasks_size()) {
    const proto::TaskProgress& task = pending.job->progress.tasks(pending.proposal.task);
    known.best_ns = task.best_ns();
    known.results = task.trials();
  }
  return Doubt(record.measurement, known);
}

// REQUIRES mutex_. The record waits, received, until its check has a result.
void Tuner::Confirm(db::Record claim, const std::string& doubt) {
  const Digest uid = DigestOf("second measurement\n" + claim.task_uid.ToText());
  const Pending& pending = pending_.at(claim.task_uid);
  const Needs needs = NeedsOf(*pending.job, pending.proposal);
  options_.logger->warn("{}: {}: measured again", LogFields(claim), doubt);
  options_.metrics->Add(Counter::kSuspectResults);
  Check check;
  check.confirms = true;
  check.workload = pending.job->workload_texts[static_cast<size_t>(pending.proposal.task)];
  check.config = claim.config;
  check.seed = uid.low;  // other inputs
  check.worker = claim.worker;
  check.doubt = doubt;
  // No other worker: the same worker, with other inputs.
  const bool others = leases_.WorkersFor(needs) > 1;
  const int64_t until = others ? SteadyMs() + options_.confirm_wait_ms : 0;
  check.claim = std::move(claim);
  (void)leases_.Add({uid, kCheckJobId, needs, {}, check.worker, until});
  registry_.checks[uid] = std::move(check);
  WakeWorkers(needs.target_class);
}

// REQUIRES mutex_; the check is received.
void Tuner::TakeCheck(const std::shared_ptr<Call>& call, const Digest& uid, const Measurement& m) {
  const std::string& worker = call->request.worker();
  // Not in the log under this id: there is nothing to send again.
  call->orders.add_acknowledged(ToWire(uid));
  const Check& check = registry_.checks.at(uid);
  if (check.confirms && m.outcome == Outcome::kInfra) {
    if (WorkerInfo* info = registry_.Find(worker)) ++info->failures;
    if (!leases_.Retry(uid)) CheckEnded(uid, "no worker could measure it again: " + m.detail);
    return;
  }
  leases_.Finish(uid);
  const Check ended = check;
  registry_.checks.erase(uid);
  if (ended.confirms) return TakeConfirmation(call, ended, m);
  const Status outcome = EvaluateCanary(m, ended.expected_ns, ended.factor);
  const bool isolated = registry_.health.CanaryEnded(ended.worker, outcome, SteadyMs());
  if (outcome.ok()) return options_.logger->info("worker={}: canary passed", ended.worker);
  options_.metrics->Add(Counter::kCanaryFailures);
  options_.logger->warn("worker={}: canary failed: {}{}", ended.worker, outcome.message(),
                        isolated ? "; quarantined" : "");
}

// REQUIRES mutex_.
void Tuner::TakeConfirmation(const std::shared_ptr<Call>& call, const Check& check,
                             const Measurement& m) {
  const std::string& second = call->request.worker();
  db::Record record = check.claim;
  const bool same = second == check.worker;
  const std::string by = same ? "the same worker with other inputs" : "worker " + second;
  switch (Compare(record.measurement, m, record.floor_ns)) {
    case Confirmation::kAgrees:
      record.measurement = Slower(record.measurement, m, "confirmed by " + by);
      break;
    case Confirmation::kDiffers:
      if (!same && m.outcome == Outcome::kOk) ReportBadResult(check.worker, check.doubt);
      record.measurement = m;
      record.worker = second;
      record.toolchain = call->request.build();
      break;
    case Confirmation::kImpossible:
      if (same) ReportBadResult(check.worker, check.doubt);
      leases_.Quarantine(record.task_uid);
      return AbandonTrial(
          record.task_uid,
          "measured twice: " + check.doubt + "; the calibration or the check of results is wrong");
  }
  if (!pending_.contains(record.task_uid)) return leases_.Finish(record.task_uid);
  record.floor_ns =
      pending_.at(record.task_uid)
          .job->floors_ns[static_cast<size_t>(pending_.at(record.task_uid).proposal.task)];
  if (const Status valid = db::Validate(record); !valid.ok()) {
    if (!leases_.Retry(record.task_uid)) AbandonTrial(record.task_uid, valid.message());
    return;
  }
  call->confirmed.push_back(std::move(record));
}

// The check itself can have no result. REQUIRES mutex_.
void Tuner::CheckEnded(const Digest& uid, const std::string& why) {
  const auto found = registry_.checks.find(uid);
  const Check check = found->second;
  registry_.checks.erase(found);
  if (!check.confirms) return registry_.health.CanaryLost(check.worker);
  leases_.Quarantine(check.claim.task_uid);
  AbandonTrial(check.claim.task_uid, check.doubt + "; not confirmed: " + why);
}

// REQUIRES mutex_.
void Tuner::ReportBadResult(const std::string& worker, const std::string& why) {
  if (WorkerInfo* info = registry_.Find(worker)) ++info->refused;
  options_.metrics->Add(Counter::kRejectedResults);
  if (!registry_.health.ReportBadResult(worker, why, SteadyMs())) return;
  options_.logger->warn("worker={} quarantined: {}", worker,
                        registry_.health.SummaryOf(worker).why);
}

// Queues a canary for the worker if it is due; the worker gets it with its next call.
void Tuner::SendCanary(const Call& call) {
  const std::string& worker = call.request.worker();
  std::vector<Digest> workloads;
  {
    std::lock_guard lock(mutex_);
    if (draining_ || call.request.draining()) return;
    if (!registry_.health.CanaryIsDue(worker, SteadyMs())) return;
    registry_.health.CanarySent(worker);
    for (const auto& [id, job] : jobs_) {
      if (job->target_class != call.target_class) continue;
      for (const db::JobTask& task : job->row.tasks) {
        if (workloads.size() < kKnownWorkloads) workloads.push_back(task.workload);
      }
    }
  }
  const Result<target::Target> target = target::Target::Parse(call.request.target());
  Check check = ChooseCanary(worker, *target, workloads);
  std::lock_guard lock(mutex_);
  if (check.config.empty()) {
    // Nothing is known that it could run.
    (void)registry_.health.CanaryEnded(worker, Status(), SteadyMs());
    return;
  }
  const Digest uid =
      DigestOf("canary " + std::to_string(++registry_.last_number) + "\n" + worker + "\n" +
               call.request.incarnation() + "\n" + std::to_string(started_ms_));
  check.seed = uid.low;
  if (!leases_.Add({uid, kCheckJobId, {call.target_class, {}, 0}, worker, {}, 0})) {
    return registry_.health.CanaryLost(worker);
  }
  registry_.checks[uid] = std::move(check);
}

// The best record of another worker on a workload that jobs of the class have, or a small product.
Check Tuner::ChooseCanary(const std::string& worker, const target::Target& target,
                          const std::vector<Digest>& workloads) const {
  Check check;
  check.worker = worker;
  check.factor = target.As<target::GpuTarget>() != nullptr ? kSameGpu : kSameCpu;
  // User-supplied kernels are only for workers that allow them, and do not verify a worker.
  const auto by_others = [&](const db::Record& record) {
    return record.worker != worker && !schedule::IsUserKernel(record.config);
  };
  for (const Digest& workload : workloads) {
    const auto best = log_.Best(workload, target.ClassText(), 1, by_others);
    const auto text = log_.FindWorkload(workload);
    if (!best.ok() || best->empty() || !text.ok() || !*text) continue;
    check.workload = (**text).text;
    check.config = best->front().config;
    check.expected_ns = best->front().measurement.median_ns;
    return check;
  }
  const Result<graph::Workload> small = graph::Workload::Parse(kSmallTrial);
  const auto config = costmodel::DefaultConfig(*small, target);
  if (!config.ok()) return check;
  check.workload = small->ToText();
  check.config = config->ToText();
  return check;
}

}  // namespace mlc::server
