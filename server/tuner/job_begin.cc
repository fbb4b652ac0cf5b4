// How the run of a job begins, once a worker of its class has called.
#include <algorithm>
#include <utility>

#include "base/contain.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "server/jobs/job_plan.h"
#include "server/jobs/search_input.h"
#include "server/search/portfolio_strategy.h"
#include "server/search/user_kernel_strategy.h"
#include "server/tuner/job_runner.h"
#include "server/tuner/timing_lock.h"
#include "server/tuner/trial_needs.h"

namespace mlc::server {
namespace {

// No honest kernel is faster than its arithmetic at this many times the calibrated peak: algorithms
// that save multiplications, and an unluckily low calibration, stay well below it.
constexpr double kPeakMargin = 16;

// A CPU starts at least so many multiply-adds of full width per ns and core.
constexpr double kSlowestClockGhz = 2;

// A calibration that others disturbed is too low: it must not refuse honest times.
double FloorNs(double flops, const target::Target& target) {
  double peak = target.fma_gflops;
  if (peak <= 0) return 0;
  if (const auto* cpu = target.As<target::CpuTarget>()) {
    peak = std::max(peak, 2.0 * cpu->threads * cpu->Lanes(DType::kF32) * kSlowestClockGhz);
  }
  return flops / (peak * kPeakMargin);
}

// The search of the families, or what a user-supplied kernel needs.
Result<std::unique_ptr<Strategy>> StrategyOf(const JobOptions& options, SearchInput input,
                                             const StrategyFactory& usual) {
  if (options.user_kernel.empty()) return usual(std::move(input));
  schedule::Config config = MLC_TRY(schedule::Config::Parse(options.user_kernel));
  if (!schedule::IsTunedKernel(config)) return MakeUserKernelStrategy(input, std::move(config));
  schedule::TunedKernel kernel = MLC_TRY(schedule::TunedKernel::FromConfig(config));
  return MakeTunedKernelStrategy(input, std::move(kernel));
}

}  // namespace

// False while the job cannot start yet, or at all.
bool JobRunner::Begin(RunningJob& job) {
  if (EndBeforeRun(job)) return false;
  db::JobRow row;
  {
    const MutexLock lock(tables_.mutex);
    if (!Calibrate(job)) return false;
    row = tables_.Of(job).row;
  }
  Status status = store_.Save(job);
  if (status.ok()) status = Contain([&] { return OpenSearch(job, row); });
  if (!status.ok()) Fail(job, status);
  return status.ok();
}

// Ends a job that has nothing under way. True if it was stopped.
bool JobRunner::EndBeforeRun(RunningJob& job) {
  {
    const MutexLock lock(tables_.mutex);
    JobFacts& facts = tables_.Of(job);
    if (facts.stop == JobStop::kNo) return false;
    if (facts.stop != JobStop::kDraining) facts.row.state = db::JobState::kCancelled;
  }
  (void)store_.Save(job);
  Finish(job);
  return true;
}

// The first worker's calibrated figures become the job's, for this run and all later ones. False
// while there is no worker.
bool JobRunner::Calibrate(RunningJob& job) {
  JobFacts& facts = tables_.Of(job);
  const auto worker = tables_.targets.find(job.spec.target_class);
  if (worker == tables_.targets.end()) {
    facts.progress.detail = workers_.WaitsFor(tables_, LeastNeeds(job.spec));
    return false;
  }
  Result<target::Target> target = target::Target::Parse(facts.row.target);
  if (target.ok() && target->fma_gflops == 0) {
    facts.row.target = worker->second;
    target = target::Target::Parse(facts.row.target);
  }
  facts.memory_bytes.assign(job.spec.bytes.begin(), job.spec.bytes.end());
  for (size_t i = 0; target.ok() && i < job.spec.flops.size(); ++i) {
    facts.floors_ns[i] = FloorNs(job.spec.flops[i], *target);
  }
  facts.progress.target = facts.row.target;
  facts.progress.detail.clear();
  // Neither time for which no worker was there.
  if (!facts.has_begun) facts.started_ms = context_.NowMs();
  facts.has_begun = true;
  return true;
}

// What the log knows for the job, and the spaces of its tasks.
Status JobRunner::OpenSearch(RunningJob& job, const db::JobRow& row) const {
  const JobOptions& options = job.spec.options;
  SearchInput input = MLC_TRY(SearchInputOf(context_.log, workloads_, row));
  JobRun::Plan plan = PlanOf(row, options, input.target);
  const TimingLock quiet(context_.options.timing_lock);
  job.run = std::make_unique<JobRun>(
      std::move(plan), MLC_TRY(StrategyOf(options, std::move(input), context_.options.strategy)));
  return Status();
}

}  // namespace mlc::server
