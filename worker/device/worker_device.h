// The interface of what measures trials: the CPU, or all GPUs of the worker. One object may serve
// several device classes; each class is a target with an index. The engine schedules; the device
// builds kernels and measures them. Not thread-safe. REQUIRES: the calling process has one thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/sandbox/sandbox.h"
#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "worker/build/built_kernel.h"
#include "worker/check/reference.h"
#include "worker/device/device_description.h"

namespace mlc::worker {

// The work of one build child. The engine starts the child, limits it and takes the kernel from it.
class KernelBuild {
 public:
  virtual ~KernelBuild() = default;

  // Child side: builds the kernel. Errors of BuildKernel.
  virtual Result<BuiltKernel> Run(const std::string& workload, const std::string& config) = 0;
  // Parent side, before the fork: adjusts the limits of the child that builds the config.
  virtual void SetLimits(const std::string& /*config*/, build::Limits& /*limits*/) {}
  // The descriptors that the child keeps open.
  virtual std::vector<int> ChildDescriptors() const { return {}; }
  // Parent side: called after the fork.
  virtual void OnStarted() {}
  // Parent side: readable when the child has a request; -1: it never has one.
  virtual int fd() const { return -1; }
  // Parent side: answers the requests of the child. Does not block.
  virtual void Serve() {}
};

struct MeasuringRules {
  // True if nothing else of this worker may run while the device measures. Such a device takes all
  // ready tasks and measures them in Collect, which blocks. Other devices take one task per idle
  // device and measure while the engine continues.
  bool alone = false;
  // The largest interleaved group: kernels of one workload and seed that are timed together.
  size_t most_together = 1;
};

// Kernels of one workload, measured on the same inputs: one, or an interleaved group.
struct DeviceTask {
  uint64_t ticket = 0;  // returned with the result
  std::string workload_text;
  const graph::Workload* workload = nullptr;
  std::vector<const BuiltKernel*> kernels;
  const SharedMemory* set = nullptr;
  double early_stop_ns = 0;
  // No other task waits, so contenders may get extra samples, until StopExtraSamples.
  bool may_take_more_samples = false;
};

struct EndedTask {
  uint64_t ticket = 0;
  // One per kernel. Any other number means that a kernel of the group failed and the others have no
  // result; each kernel then has to be measured alone.
  std::vector<Measurement> measurements;
  double took_s = 0;  // device time in seconds
};

// The trials that the engine holds for a device at one moment.
struct DeviceDemand {
  int held = 0;       // all trials, including those being measured
  int unbuilt = 0;    // trials that wait for a compiler or are being compiled
  int unchecked = 0;  // built, but without reference data
  int building = 0;   // trials that are being compiled
  int builders = 1;   // most compilers in parallel
};

// The use of the devices while there were trials.
struct DeviceUse {
  double trial_s = 0;  // seconds with trials, over all devices
  double busy_s = 0;   // seconds of it at work
  std::string text;    // report for the user; empty: none
};

class WorkerDevice {
 public:
  virtual ~WorkerDevice() = default;

  // At least one target, with measured peaks unless WorkerOptions does without. The targets never
  // change.
  virtual const std::vector<target::Target>& targets() const = 0;
  virtual DeviceDescription Describe(size_t target) const = 0;
  virtual MeasuringRules rules() const = 0;

  // RESOURCE_EXHAUSTED if there are too few descriptors; try again later.
  virtual Result<std::unique_ptr<KernelBuild>> NewBuild(size_t target) = 0;

  // The number of devices of the target with a task.
  virtual int busy(size_t target) const = 0;
  // Gives the task to a device. False while others use all free devices; try again (see AddTo).
  // What the task points to must live until this returns or, if the device measures alone, until
  // Collect returns. A task cannot be withdrawn: the caller drops its result instead. REQUIRES: a
  // device of the target is idle, or the device measures alone.
  virtual bool Submit(size_t target, const DeviceTask& task) = 0;
  // A task waits for a device of the target: stop extra samples.
  virtual void StopExtraSamples(size_t target) = 0;
  // The tasks that ended since the last call. If the device measures alone: all submitted tasks, in
  // order.
  virtual std::vector<EndedTask> Collect() = 0;
  // Adds descriptors for poll() that are readable when a task may have ended. Returns the longest
  // time to wait, at most `timeout_ms`.
  virtual int AddTo(std::vector<pollfd>& waiting, int timeout_ms) const = 0;

  // Records the demand from now until the next call. Without demand, others may use the device.
  virtual void Note(const DeviceDemand& demand) = 0;
  virtual DeviceUse Use() const = 0;
  // A new warning for the user; empty if there is none.
  virtual std::string TakeWarning() = 0;
  // Why the device cannot be used after all, if that is known only after its start.
  virtual Status StartFailure() const { return Status(); }
};

}  // namespace mlc::worker
