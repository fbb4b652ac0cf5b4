// The worker without a network: trials in, measurements out. It builds in parallel children. What
// is built for a device that measures beside other work goes to it at once, while the next ones are
// built. What is built for a device that must be alone is measured with nothing else running, in
// turns with building, once the other devices are done. Single-threaded; its children are forked
// from it. Not thread-safe. REQUIRES: the process has one thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
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
  int builders = 1;  // build children at a time
  bool sandbox = true;
  int64_t build_memory_bytes = int64_t{4} << 30;
  int64_t build_timeout_ms = 10'000;
  ReferenceOptions references;
};

class Engine {
 public:
  // REQUIRES: at least one device.
  Engine(const EngineOptions& options, std::vector<std::unique_ptr<WorkerDevice>> devices);

  // What it measures on, in the order of the devices; Trial::target is an index into it.
  const std::vector<target::Target>& targets() const { return targets_; }
  const target::Target& target() const { return targets_.front(); }
  // Parallel to targets().
  std::vector<DeviceDescription> Describe() const;
  // A lock file held while a device measures alone.
  void set_gate(GateFile file);

  void Add(Trial trial);
  // Forgets a trial; one that is being measured runs to its end, and its result is dropped.
  void Cancel(const Digest& uid);
  size_t held() const { return jobs_.size(); }

  // Starts what can start and waits for children or for `fd` to become readable (-1: none).
  void Work(int timeout_ms, int fd);
  // Something is built for a device that measures alone, nothing is building for one, and no other
  // device is at work.
  bool ReadyToMeasure() const;
  // Measures everything that is ready for devices that measure alone. Blocks.
  void Measure();
  // How the devices' time went, of those that tell it.
  DeviceUse Use() const;
  // What people should know of the machine's state, once; empty: nothing new.
  std::string TakeWarning();
  // Results since the last call.
  std::vector<TrialResult> TakeResults();

 private:
  // One target, with the device that serves it.
  struct Slot {
    WorkerDevice* device;
    size_t target;  // among the device's
    DeviceTime time;
  };

  DeviceTime& TimeOf(const Job& job) { return slots_[static_cast<size_t>(job.trial.target)].time; }
  void FailUnreferenced();
  void Finish(Job& job, Measurement measurement, double device_s);
  void Fail(Job& job, Measurement measurement);
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
