// What the engine asks of something that trials are measured on: the CPU, or all GPUs of the
// worker. One object may serve several classes of devices; each is a target, named by its index.
// The engine schedules; a device says how a kernel is built for it and measures what was built. Not
// thread-safe. REQUIRES: the calling process has one thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "worker/build/built_kernel.h"
#include "worker/check/reference.h"
#include "worker/device/device_description.h"

namespace mlc::worker {

// What one build child does. The engine starts the child, limits it, and takes the kernel from it.
class KernelBuild {
 public:
  virtual ~KernelBuild() = default;

  // In the child: from texts to a kernel. Errors: see BuildKernel.
  virtual Result<BuiltKernel> Run(const std::string& workload, const std::string& config) = 0;
  // Descriptors that the child keeps.
  virtual std::vector<int> ChildDescriptors() const { return {}; }
  // In the parent, after the fork.
  virtual void OnStarted() {}
  // In the parent: readable when the child asks for something; -1: it never does.
  virtual int fd() const { return -1; }
  // In the parent: answers what the child has asked for. Does not block.
  virtual void Serve() {}
};

struct MeasuringRules {
  // Nothing else of this worker may run while it measures. It takes all tasks that are ready, and
  // measures them in Collect, which blocks. Others take a task for each idle device and measure
  // while the engine goes on.
  bool alone = false;
  // Kernels of one workload and seed are timed as an interleaved group of up to so many.
  size_t most_together = 1;
};

// Kernels of one workload, measured on the same inputs: one, or an interleaved group.
struct DeviceTask {
  uint64_t ticket = 0;  // comes back with the result
  std::string workload_text;
  const graph::Workload* workload = nullptr;
  std::vector<const BuiltKernel*> kernels;
  const SharedMemory* set = nullptr;
  double early_stop_ns = 0;
  // Nothing else waits: contenders may get more samples, until StopExtraSamples.
  bool may_take_more_samples = false;
};

struct EndedTask {
  uint64_t ticket = 0;
  // One for each kernel. Another number: a kernel of several failed, and nothing is said about the
  // others; each is to be measured by itself.
  std::vector<Measurement> measurements;
  double took_s = 0;  // of the device's time
};

// The trials that the engine holds for a device, at one moment.
struct DeviceDemand {
  int held = 0;       // those that are being measured included
  int unbuilt = 0;    // waiting for a compiler or being compiled
  int unchecked = 0;  // built, but without reference data
  int building = 0;   // of the unbuilt: being compiled
  int builders = 1;   // compilers that may run at a time
};

// How the time went in which there were trials.
struct DeviceUse {
  double trial_s = 0;  // over all devices: with trials
  double busy_s = 0;   // of them, at work
  std::string text;    // for people; empty: nothing to say
};

class WorkerDevice {
 public:
  virtual ~WorkerDevice() = default;

  // At least one, with measured peaks. Do not change.
  virtual const std::vector<target::Target>& targets() const = 0;
  virtual DeviceDescription Describe(size_t target) const = 0;
  virtual MeasuringRules rules() const = 0;

  // RESOURCE_EXHAUSTED for lack of descriptors: to be tried again later.
  virtual Result<std::unique_ptr<KernelBuild>> NewBuild(size_t target) = 0;

  // Devices of the target that have a task.
  virtual int busy(size_t target) const = 0;
  // False while others use all that are free: to be tried again, see AddTo. What the task points to
  // must live until this returns, where a device measures alone until Collect returns. REQUIRES: a
  // device of the target is idle, or the device measures alone. A task is never taken back: who
  // does not want it any more drops its result.
  virtual bool Submit(size_t target, const DeviceTask& task) = 0;
  // Something waits for a device of the target.
  virtual void StopExtraSamples(size_t target) = 0;
  // The tasks that have ended since the last call; where a device measures alone, all submitted
  // ones, in their order.
  virtual std::vector<EndedTask> Collect() = 0;
  // For poll(): readable when a task may have ended. Returns the longest time to wait, `timeout_ms`
  // or less.
  virtual int AddTo(std::vector<pollfd>& waiting, int timeout_ms) const = 0;

  // What holds from now until the next call. Without demand, others may use the device.
  virtual void Note(const DeviceDemand& demand) = 0;
  virtual DeviceUse Use() const = 0;
  // What people should know, once; empty: nothing new.
  virtual std::string TakeWarning() = 0;
};

}  // namespace mlc::worker
