// The CPU as a worker device: LLVM builds the trials, and runner children measure them in batches
// while nothing else of this worker runs. Not thread-safe. REQUIRES: the calling process has one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/device/cpu/runner.h"
#include "worker/device/worker_device.h"
#include "worker/measure/machine_probe.h"

namespace mlc::worker {

struct CpuDeviceOptions {
  target::Target target;
  std::string probe_kernels;  // BuildProbeKernels(target)
  std::string llvm;           // its version
  bool sandbox = true;
  bool lenient = false;             // see WorkerOptions
  bool allow_user_kernels = false;  // in C, if the machine has a C compiler
  int64_t run_timeout_ms = 10'000;  // see WorkerOptions
};

class CpuDevice : public WorkerDevice {
 public:
  // Measures the peaks if the target has none, in less than a second. Errors of MeasurePeaks.
  static Result<std::unique_ptr<CpuDevice>> Create(CpuDeviceOptions options);

  const std::vector<target::Target>& targets() const override { return targets_; }
  DeviceDescription Describe(size_t target) const override;
  MeasuringRules rules() const override { return {.alone = true, .most_together = 1}; }
  Result<std::unique_ptr<KernelBuild>> NewBuild(size_t target) override;
  int busy(size_t /*target*/) const override { return tasks_.empty() ? 0 : 1; }
  bool Submit(size_t target, const DeviceTask& task) override;
  void StopExtraSamples(size_t /*target*/) override {}
  std::vector<EndedTask> Collect() override;
  int AddTo(std::vector<pollfd>& /*waiting*/, int timeout_ms) const override { return timeout_ms; }
  void Note(const DeviceDemand& /*demand*/) override {}
  DeviceUse Use() const override { return {}; }
  std::string TakeWarning() override { return {}; }

 private:
  explicit CpuDevice(CpuDeviceOptions options) : options_(std::move(options)) {}
  Status Calibrate();
  const target::Target& target() const { return targets_.front(); }

  CpuDeviceOptions options_;
  std::string c_compiler_;  // empty: user-supplied kernels are refused
  std::vector<target::Target> targets_;
  std::optional<MachineProbe> probe_;
  MachineState machine_;
  std::vector<RunTask> tasks_;
  std::vector<uint64_t> tickets_;  // parallel to `tasks_`
};

}  // namespace mlc::worker
