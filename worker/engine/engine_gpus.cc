// The engine's part for GPUs: what goes to their runners when, and how their time went.
#include <algorithm>
#include <utility>

#include "worker/engine/engine.h"

namespace mlc::worker {
namespace {

// More would take the CPUs from the compilers for little.
constexpr int kGpuHostThreads = 8;

// Kernels timed as an interleaved group.
constexpr size_t kMaxTogether = 8;

}  // namespace

// In the sandbox a kernel's author gets at nothing but what the device holds. On a device that
// reaches the memory of its process, he would be in that process: he would write its results and,
// once he runs code there, read the files that its user may read.
Status Engine::CheckUserKernel() const {
  if (!options_.allow_user_kernels || !options_.sandbox || options_.lenient) return Status();
  for (const GpuDevice& gpu : options_.gpus) {
    if (!gpu.reaches_host) continue;
    return FailedPrecondition(
        "--allow-user-kernels is refused: kernels on GPU " + std::to_string(gpu.ordinal) + " (" +
        gpu.name +
        ") reach all memory of the process that drives it, so no sandbox contains what somebody "
        "wrote "
        "by hand. Where that is HMM, load the module nvidia-uvm with uvm_disable_hmm=1; leave such "
        "GPUs out with CUDA_VISIBLE_DEVICES; or accept it with --sandbox=off");
  }
  return Status();
}

Status Engine::StartGpus() {
  MLC_TRY(CheckUserKernel());
  const Status sandbox = build::CanSandbox(build::Limits::SandboxKind::kDevice);
  if (options_.sandbox && !options_.lenient) MLC_TRY(sandbox);
  nvrtc_ = MLC_TRY(build::Nvrtc::Open(options_.cuda_home));
  fleet_ = MLC_TRY(GpuFleet::Create({.gpus = options_.gpus,
                                     .cuda_home = options_.cuda_home,
                                     .threads = std::clamp(options_.builders, 1, kGpuHostThreads),
                                     .sandbox = options_.sandbox && sandbox.ok(),
                                     .run_timeout_ms = options_.run_timeout_ms,
                                     .lock_folder = options_.gpu_locks},
                                    *nvrtc_));
  targets_.insert(targets_.end(), fleet_->targets().begin(), fleet_->targets().end());
  for (size_t target = 0; target < fleet_->targets().size(); ++target) {
    times_.emplace_back(fleet_->size(target));
  }
  return Status();
}

// Trials of one workload on the same inputs are a comparison.
std::vector<Engine::Job*> Engine::GroupOf(Job& job) {
  std::vector<Job*> group = {&job};
  for (Job& other : jobs_) {
    if (job.alone || &other == &job || other.data != job.data || other.alone) continue;
    if (other.trial.seed != job.trial.seed || other.trial.target != job.trial.target) continue;
    if (other.stage == Stage::kOnGpu) continue;
    if (!Ready(other)) return {};
    if (group.size() < kMaxTogether) group.push_back(&other);
  }
  return group;
}

size_t Engine::ClassOf(const Job& job) const {
  return static_cast<size_t>(job.trial.target) - (options_.cpu ? 1 : 0);
}

// Something else than the group could be timed on its device.
bool Engine::IsWorkWaiting(const std::vector<Job*>& group) {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](Job& job) {
    if (job.data == nullptr || OnCpu(job) || !Ready(job)) return false;
    if (ClassOf(job) != ClassOf(*group.front())) return false;
    return std::find(group.begin(), group.end(), &job) == group.end() && !GroupOf(job).empty();
  });
}

void Engine::SubmitToGpus() {
  if (fleet_ == nullptr) return;
  // Timings on the CPU have their turn when the GPUs are done.
  if (CpuWaits()) {
    for (size_t target = 0; target < fleet_->targets().size(); ++target)
      fleet_->StopExtraSamples(target);
    return;
  }
  for (Job& job : jobs_) {
    if (job.data == nullptr || OnCpu(job) || !Ready(job)) continue;
    const std::vector<Job*> group = GroupOf(job);
    if (group.empty()) continue;
    const size_t target = ClassOf(job);
    if (!fleet_->HasIdle(target)) {
      fleet_->StopExtraSamples(target);
      continue;
    }
    const SharedMemory& set = references_.NextSet(*job.data);
    GpuTaskMessage task;
    task.workload = job.trial.workload;
    task.set = set.serial();
    task.early_stop_ns = group.size() > 1 ? 0 : job.trial.early_stop_ns;
    task.may_take_more_samples = !IsWorkWaiting(group);
    for (Job* member : group) task.built.push_back(Encode(member->built));
    const uint64_t ticket = ++tickets_;
    if (!fleet_->Submit(target, ticket, task, set.descriptor())) continue;
    for (Job* member : group) {
      member->ticket = ticket;
      member->together = group.size();
      member->submitted = DeviceTime::Clock::now();
      member->stage = Stage::kOnGpu;
    }
  }
}

void Engine::NoteUsage() {
  if (fleet_ == nullptr) return;
  GpuMoment moment;
  moment.gpus = fleet_->size();
  moment.busy = fleet_->busy();
  moment.locked = fleet_->waits();
  moment.builders = options_.builders;
  for (const Job& job : jobs_) {
    if (job.data == nullptr || OnCpu(job)) continue;
    ++moment.held;
    if (job.stage <= Stage::kBuilding) ++moment.unbuilt;
    if (job.stage == Stage::kBuilding) ++moment.building;
    if (job.stage == Stage::kBuilt && job.data->sets.empty()) ++moment.unchecked;
  }
  usage_.Note(moment, GpuUsage::Clock::now());
  // Between jobs, and while all trials are being built, the card is free for others.
  if (moment.busy == 0 && !moment.locked) fleet_->Leave();
}

void Engine::TakeFromGpu(GpuFleet::Ended ended) {
  std::vector<Job*> group;
  for (Job& job : jobs_) {
    if (job.ticket == ended.ticket && job.stage == Stage::kOnGpu) group.push_back(&job);
  }
  if (group.empty()) return;
  const DeviceTime::Clock::duration took = DeviceTime::Clock::now() - group.front()->submitted;
  const double took_s = std::chrono::duration<double>(took).count();
  // A failure of one, or one was cancelled.
  const size_t together = group.front()->together;
  if (ended.measurements.size() != together || group.size() != together) {
    TimeOf(*group.front()).AddUnattributed(took_s);
    for (Job* job : group) {
      job->alone = true;
      job->stage = Stage::kBuilt;
    }
    return;
  }
  const double each_s =
      (took_s + TimeOf(*group.front()).TakeUnattributed()) / static_cast<double>(together);
  for (size_t i = 0; i < group.size(); ++i) {
    Job& job = *group[i];
    ended.measurements[i].build_ms = job.built.build_ms;
    references_.Renew(*job.data, job.trial.seed);
    Finish(job, std::move(ended.measurements[i]), each_s);
  }
}

// What each target's trials and devices do from now on.
void Engine::NoteTimes() {
  const auto now = DeviceTime::Clock::now();
  std::vector<int> trials(targets_.size(), 0);
  for (const Job& job : jobs_) {
    if (job.data != nullptr) ++trials[static_cast<size_t>(job.trial.target)];
  }
  const size_t first = options_.cpu ? 1 : 0;
  for (size_t target = 0; target < targets_.size(); ++target) {
    const int busy = target < first ? 0 : fleet_->busy(target - first);
    times_[target].Note(trials[target], busy, now);
  }
}

void Engine::CollectFromGpus() {
  if (fleet_ == nullptr) return;
  for (GpuFleet::Ended& ended : fleet_->Collect()) {
    usage_.CountTrials(static_cast<int64_t>(ended.measurements.size()));
    TakeFromGpu(std::move(ended));
  }
  usage_.CountMore(fleet_->TakeMoreSeconds());
}

std::string Engine::GpuUsageText() const {
  const std::string usage = usage_.ToText(), cubins = cubins_.ToText();
  return usage + (usage.empty() || cubins.empty() ? "" : "; ") + cubins;
}

}  // namespace mlc::worker
