// The worker without its network part: trials in, measurements out. It builds trials in parallel
// children. For a device that measures beside other work, a built trial goes to the device
// immediately. For a device that must be alone, the engine alternates between building and
// measuring, and measures only when nothing else runs and the other devices are idle.
// Single-threaded; it forks its children itself. Not thread-safe. REQUIRES: the process has one
// thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "worker/build/trial.h"
#include "worker/check/reference_store.h"
#include "worker/device/worker_device.h"
#include "worker/engine/builders.h"
#include "worker/engine/device_time.h"
#include "worker/engine/job.h"
#include "worker/measure/measurement_gate.h"

namespace mlc::worker {

struct EngineOptions {
  int builders = 1;  // build children in parallel
  bool sandbox = true;
  int64_t build_memory_bytes = int64_t{4} << 30;
  int64_t build_timeout_ms = 10'000;
  ReferenceOptions references;
};

class Engine {
 public:
  // REQUIRES: at least one device.
  Engine(const EngineOptions& options, std::vector<std::unique_ptr<WorkerDevice>> devices);

  // The targets, in the order of the devices; Trial::target is an index into them.
  const std::vector<target::Target>& targets() const { return targets_; }
  const target::Target& target() const { return targets_.front(); }
  // Parallel to targets().
  std::vector<DeviceDescription> Describe() const;
  // Sets the lock file to hold while a device measures alone.
  void set_gate(GateFile file);

  void Add(Trial trial);
  // Cancels a trial. A trial in measurement runs to its end, and its result is dropped.
  void Cancel(const Digest& uid);
  size_t held() const { return jobs_.size(); }

  // Starts all work that can start, then waits for children or for `fd` to become readable (-1:
  // none).
  void Work(int timeout_ms, int fd);
  // True if a trial is built for a device that measures alone, no such trial is being built, and
  // all other devices are idle.
  bool ReadyToMeasure() const;
  // Measures all ready trials of devices that measure alone. Blocks.
  void Measure();
  // The use of the devices that report it.
  DeviceUse Use() const;
  // Why a device cannot be used after all: the engine is of no use then.
  Status StartFailure() const;
  // A new warning about the machine for the user; empty if there is none.
  std::string TakeWarning();
  // Results since the last call.
  std::vector<TrialResult> TakeResults();

 private:
  // A target and the device that serves it.
  struct Slot {
    WorkerDevice* device;
    size_t target;  // index among the device's targets
    DeviceTime time;
  };

  DeviceTime& TimeOf(const Job& job) { return slots_[static_cast<size_t>(job.trial.target)].time; }
  void FailUnreferenced();
  // Without `device_s`: of one that was not measured. Its time is what no trial was charged for
  // yet.
  void Finish(Job& job, Measurement measurement, std::optional<double> device_s = std::nullopt);
  void DropFinished();

  // engine_devices.cc
  bool Submit(const std::vector<Job*>& group, bool may_take_more_samples);
  void SubmitReady();
  void FinishTask(const std::vector<Job*>& group, EndedTask& ended, double waited_s);
  void CollectMeasured();
  void MeasureAlone(Slot& slot);
  void NoteTimes();

  std::vector<std::unique_ptr<WorkerDevice>> devices_;
  std::vector<target::Target> targets_;
  std::vector<Slot> slots_;  // parallel to `targets_`
  Builders builders_;
  GateFile gate_;
  bool gate_warned_ = false;
  std::string warning_;
  ReferenceStore references_;
  std::list<Job> jobs_;
  std::vector<TrialResult> results_;
  uint64_t tickets_ = 0;
};

}  // namespace mlc::worker
