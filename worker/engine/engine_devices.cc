// The engine and its devices: what goes to them when, and how their time went.
#include <algorithm>
#include <utility>

#include "worker/engine/engine.h"

namespace mlc::worker {
namespace {

// Trials that are to be measured alone are all built, and one of them at least can be.
bool WaitToBeAlone(const std::list<Job>& jobs) {
  bool any = false;
  for (const Job& job : jobs) {
    if (job.stage == Stage::kDone || !job.device->rules().alone) continue;
    if (job.stage != Stage::kBuilt) return false;
    any |= job.ready();
  }
  return any;
}

// The trials of the interleaved group of this one, itself included; empty while one of them is not
// built. Trials of one workload on the same inputs are a comparison.
std::vector<Job*> GroupOf(std::list<Job>& jobs, Job& job) {
  std::vector<Job*> group = {&job};
  const size_t most = job.device->rules().most_together;
  if (most == 1 || job.alone) return group;
  for (Job& other : jobs) {
    if (&other == &job || other.data != job.data || other.alone) continue;
    if (other.trial.seed != job.trial.seed || other.trial.target != job.trial.target) continue;
    if (other.stage > Stage::kBuilt) continue;
    if (!other.ready()) return {};
    if (group.size() < most) group.push_back(&other);
  }
  return group;
}

// Something else than the group could be timed on its device.
bool IsWorkWaiting(std::list<Job>& jobs, const std::vector<Job*>& group) {
  return std::any_of(jobs.begin(), jobs.end(), [&](Job& job) {
    if (!job.ready() || job.trial.target != group.front()->trial.target) return false;
    return std::find(group.begin(), group.end(), &job) == group.end() &&
           !GroupOf(jobs, job).empty();
  });
}

std::vector<Job*> JobsOf(std::list<Job>& jobs, const EndedTask& ended) {
  std::vector<Job*> group;
  for (Job& job : jobs) {
    if (job.ticket == ended.ticket && job.stage == Stage::kMeasuring) group.push_back(&job);
  }
  return group;
}

}  // namespace

bool Engine::ReadyToMeasure() const {
  return WaitToBeAlone(jobs_) && std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
           return slot.device->busy(slot.target) == 0;
         });
}

bool Engine::Submit(const std::vector<Job*>& group, bool may_take_more_samples) {
  const Job& first = *group.front();
  DeviceTask task;
  task.ticket = ++tickets_;
  task.workload_text = first.trial.workload;
  task.workload = &first.data->workload;
  task.set = &references_.NextSet(*first.data);
  task.early_stop_ns = group.size() > 1 ? 0 : first.trial.early_stop_ns;
  task.may_take_more_samples = may_take_more_samples;
  for (const Job* member : group) task.kernels.push_back(&member->built);
  if (!first.device->Submit(first.device_target, task)) return false;
  for (Job* member : group) {
    member->ticket = task.ticket;
    member->together = group.size();
    member->stage = Stage::kMeasuring;
  }
  return true;
}

void Engine::SubmitReady() {
  // Timings alone have their turn when the other devices are done.
  if (WaitToBeAlone(jobs_)) {
    for (const Slot& slot : slots_) slot.device->StopExtraSamples(slot.target);
    return;
  }
  for (Job& job : jobs_) {
    if (!job.ready() || job.device->rules().alone) continue;
    const std::vector<Job*> group = GroupOf(jobs_, job);
    if (group.empty()) continue;
    if (job.device->busy(job.device_target) >= TimeOf(job).devices()) {
      job.device->StopExtraSamples(job.device_target);
      continue;
    }
    (void)Submit(group, !IsWorkWaiting(jobs_, group));
  }
}

void Engine::FinishTask(const std::vector<Job*>& group, EndedTask& ended, double waited_s) {
  const double each_s = (ended.took_s + waited_s) / static_cast<double>(group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    Job& job = *group[i];
    ended.measurements[i].build_ms = job.built.build_ms;
    references_.Renew(*job.data, job.trial.seed);
    Finish(job, std::move(ended.measurements[i]), each_s);
  }
}

void Engine::CollectMeasured() {
  for (const std::unique_ptr<WorkerDevice>& device : devices_) {
    for (EndedTask& ended : device->Collect()) {
      const std::vector<Job*> group = JobsOf(jobs_, ended);
      if (group.empty()) continue;
      DeviceTime& time = TimeOf(*group.front());
      // A failure of one, or one was cancelled.
      const size_t together = group.front()->together;
      if (ended.measurements.size() != together || group.size() != together) {
        time.AddUnattributed(ended.took_s);
        for (Job* job : group) {
          job->alone = true;
          job->stage = Stage::kBuilt;
        }
        continue;
      }
      FinishTask(group, ended, time.TakeUnattributed());
    }
  }
}

void Engine::Measure() {
  references_.StopMakers();
  Builders::Stop(jobs_);
  for (Slot& slot : slots_) {
    if (slot.device->rules().alone) slot.time.Note(1, 1, DeviceTime::Clock::now());
  }
  {
    const MeasurementGate gate(gate_, MeasurementGate::Mode::kExclusive);
    if (!gate.held_by().empty() && !std::exchange(gate_warned_, true)) {
      warning_ = "timing does not wait any longer for " + gate_.path + ", which is held by " +
                 gate.held_by();
    }
    for (Slot& slot : slots_) {
      if (slot.device->rules().alone) MeasureAlone(slot);
    }
  }
  Builders::Continue(jobs_);
  references_.ContinueMakers();
  DropFinished();
}

void Engine::MeasureAlone(Slot& slot) {
  for (Job& job : jobs_) {
    const bool here = job.device == slot.device && job.device_target == slot.target;
    if (here && job.ready()) (void)Submit({&job}, false);
  }
  std::vector<EndedTask> ended = slot.device->Collect();
  if (ended.empty()) return;
  const double waited_s = slot.time.TakeUnattributed() / static_cast<double>(ended.size());
  for (EndedTask& task : ended) FinishTask(JobsOf(jobs_, task), task, waited_s);
}

// What each target's trials and devices do from now on.
void Engine::NoteTimes() {
  const auto now = DeviceTime::Clock::now();
  std::vector<int> trials(slots_.size(), 0);
  for (const Job& job : jobs_) ++trials[static_cast<size_t>(job.trial.target)];
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].time.Note(trials[i], slots_[i].device->busy(slots_[i].target), now);
  }
}

}  // namespace mlc::worker
