#include "worker/device/cpu/cpu_device.h"

#include <utility>

#include "base/machine/cpus.h"
#include "base/machine/memory.h"
#include "worker/device/cpu/batch.h"
#include "worker/measure/calibration.h"

namespace mlc::worker {
namespace {

class CpuBuild : public KernelBuild {
 public:
  explicit CpuBuild(const target::Target& target) : target_(target) {}

  Result<BuiltKernel> Run(const std::string& workload, const std::string& config) override {
    return BuildKernel(workload, config, target_);
  }

 private:
  const target::Target& target_;
};

}  // namespace

Result<std::unique_ptr<CpuDevice>> CpuDevice::Create(CpuDeviceOptions options) {
  auto device = std::unique_ptr<CpuDevice>(new CpuDevice(std::move(options)));
  const CpuDeviceOptions& made = device->options_;
  device->probe_ = MLC_TRY(MachineProbe::Create(made.probe_kernels, made.target));
  if (made.target.fma_gflops <= 0) MLC_TRY(device->Calibrate());
  device->targets_ = {made.target};
  return device;
}

Status CpuDevice::Calibrate() {
  const build::ChildWork work = CalibrationWork(options_.target.cpu().threads);
  const Peaks peaks = MLC_TRY(MeasurePeaks(*probe_, work, options_.sandbox));
  options_.target.fma_gflops = peaks.fma_gflops;
  options_.target.copy_gbps = peaks.copy_gbps;
  machine_.fma = ReferenceSpeed(peaks.fma_gflops);
  return Status();
}

DeviceDescription CpuDevice::Describe(size_t /*target*/) const {
  DeviceDescription description;
  description.target = target().ToText();
  description.kind = "CPU";
  description.memory_bytes = target::UsableMemory();
  description.llvm = options_.llvm;
  return description;
}

Result<std::unique_ptr<KernelBuild>> CpuDevice::NewBuild(size_t /*target*/) {
  return std::unique_ptr<KernelBuild>(std::make_unique<CpuBuild>(target()));
}

bool CpuDevice::Submit(size_t /*target*/, const DeviceTask& task) {
  tickets_.push_back(task.ticket);
  tasks_.push_back({task.workload, task.kernels.front(), task.set->bytes().data(),
                    task.early_stop_ns, RotationBytesFor(target()),
                    target().cpu().threads <= target::UsableCpus()});
  return true;
}

std::vector<EndedTask> CpuDevice::Collect() {
  if (tasks_.empty()) return {};
  BatchOptions options;
  options.threads = target().cpu().threads;
  options.probe = &*probe_;
  options.sandbox = options_.sandbox;
  options.run_timeout_ms = options_.run_timeout_ms;
  std::vector<TimedMeasurement> measured = RunBatch(tasks_, options, machine_);
  std::vector<EndedTask> ended;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    EndedTask& task = ended.emplace_back();
    task.ticket = tickets_[i];
    task.measurements.push_back(std::move(measured[i].measurement));
    task.took_s = measured[i].took_s;
  }
  tasks_.clear();
  tickets_.clear();
  return ended;
}

}  // namespace mlc::worker
