#include "worker/engine/engine.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/machine/memory.h"

namespace mlc::worker {
namespace {

ReferenceOptions ReferencesOf(const EngineOptions& options) {
  ReferenceOptions references = options.references;
  references.sandbox = options.sandbox;
  references.cpus = options.builders;
  // Half of the memory: sets, builds and others need the rest.
  references.maker_bytes = target::UsableMemory() / 2;
  return references;
}

// What the trials of a device wait for.
DeviceDemand DemandOf(const std::list<Job>& jobs, const WorkerDevice& device, int builders) {
  DeviceDemand demand;
  demand.builders = builders;
  for (const Job& job : jobs) {
    if (job.device != &device) continue;
    ++demand.held;
    if (job.stage <= Stage::kBuilding) ++demand.unbuilt;
    if (job.stage == Stage::kBuilding) ++demand.building;
    if (job.stage == Stage::kBuilt && job.data->sets.empty()) ++demand.unchecked;
  }
  return demand;
}

}  // namespace

Engine::Engine(const EngineOptions& options, std::vector<std::unique_ptr<WorkerDevice>> devices)
    : devices_(std::move(devices)),
      builders_({.builders = options.builders,
                 .sandbox = options.sandbox,
                 .memory_bytes = options.build_memory_bytes,
                 .timeout_ms = options.build_timeout_ms}),
      references_(ReferencesOf(options)) {
  for (const std::unique_ptr<WorkerDevice>& device : devices_) {
    for (size_t target = 0; target < device->targets().size(); ++target) {
      targets_.push_back(device->targets()[target]);
      slots_.push_back({device.get(), target, DeviceTime(device->Describe(target).devices)});
    }
  }
  MLC_CHECK(!slots_.empty());
}

std::vector<DeviceDescription> Engine::Describe() const {
  std::vector<DeviceDescription> descriptions;
  for (const Slot& slot : slots_) descriptions.push_back(slot.device->Describe(slot.target));
  return descriptions;
}

void Engine::Add(Trial trial) {
  Job& job = jobs_.emplace_back();
  job.trial = std::move(trial);
  if (job.trial.target < 0 || static_cast<size_t>(job.trial.target) >= slots_.size()) {
    job.trial.target = 0;
    Finish(job, Failed(Outcome::kInfra, "the worker has no such target"));
    return DropFinished();
  }
  const Slot& slot = slots_[static_cast<size_t>(job.trial.target)];
  job.device = slot.device;
  job.device_target = slot.target;
  Result<WorkloadData*> data = references_.Find(job.trial.workload, job.trial.seed);
  if (!data.ok()) {
    Finish(job, Failed(Outcome::kBuildError, data.status().message()));
    return DropFinished();
  }
  job.data = *data;
  ++job.data->users;
}

void Engine::Cancel(const Digest& uid) {
  for (Job& job : jobs_) {
    if (job.trial.uid == uid) job.stage = Stage::kDone;
  }
  DropFinished();
}

void Engine::DropFinished() {
  jobs_.remove_if([](const Job& job) {
    if (job.stage != Stage::kDone) return false;
    if (job.data != nullptr) --job.data->users;
    return true;
  });
}

void Engine::Finish(Job& job, Measurement measurement, std::optional<double> device_s) {
  const double seconds = device_s ? *device_s : TimeOf(job).TakeUnattributed();
  measurement.device_ms = 1e3 * seconds;
  results_.push_back({job.trial.uid, std::move(measurement), seconds});
  job.stage = Stage::kDone;
}

void Engine::FailUnreferenced() {
  for (Job& job : jobs_) {
    if (job.stage == Stage::kDone || !job.data->sets.empty() || job.data->maker) continue;
    if (job.data->waiting || job.data->failure.ok()) continue;
    Finish(job, Failed(Outcome::kInfra, job.data->failure.message()));
  }
}

void Engine::Work(int timeout_ms, int fd) {
  builders_.Start(jobs_, references_);
  SubmitReady();
  std::vector<pollfd> waiting;
  Builders::AddTo(jobs_, waiting);
  references_.AddTo(waiting);
  NoteTimes();
  for (const std::unique_ptr<WorkerDevice>& device : devices_) {
    device->Note(DemandOf(jobs_, *device, builders_.most()));
    timeout_ms = device->AddTo(waiting, timeout_ms);
  }
  if (fd >= 0) waiting.push_back({fd, POLLIN, 0});
  (void)poll(waiting.data(), waiting.size(), timeout_ms);
  references_.Collect();
  for (Job& job : jobs_) {
    if (job.stage != Stage::kBuilding) continue;
    if (auto failure = builders_.Collect(job)) Finish(job, *std::move(failure));
  }
  CollectMeasured();
  FailUnreferenced();
  DropFinished();
  SubmitReady();
  NoteTimes();
}

void Engine::set_gate(GateFile file) {
  gate_ = std::move(file);
  gate_warned_ = false;
}

DeviceUse Engine::Use() const {
  DeviceUse all;
  for (const std::unique_ptr<WorkerDevice>& device : devices_) {
    const DeviceUse use = device->Use();
    all.trial_s += use.trial_s;
    all.busy_s += use.busy_s;
    all.text += (all.text.empty() || use.text.empty() ? "" : "; ") + use.text;
  }
  return all;
}

Status Engine::StartFailure() const {
  for (const std::unique_ptr<WorkerDevice>& device : devices_) MLC_TRY(device->StartFailure());
  return Status();
}

std::string Engine::TakeWarning() {
  std::string warning = std::exchange(warning_, {});
  for (const std::unique_ptr<WorkerDevice>& device : devices_) {
    if (warning.empty()) warning = device->TakeWarning();
  }
  return warning;
}

std::vector<TrialResult> Engine::TakeResults() { return std::exchange(results_, {}); }

}  // namespace mlc::worker
