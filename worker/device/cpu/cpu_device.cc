#include "worker/device/cpu/cpu_device.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/machine/cpus.h"
#include "base/machine/memory.h"
#include "compiler/build/c_compiler.h"
#include "compiler/build/math_calls.h"
#include "compiler/schedule/space/config.h"
#include "worker/device/cpu/batch.h"
#include "worker/measure/calibration.h"

namespace mlc::worker {
namespace {

// A folder of its own for a compiler, removed with what is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "mlc-kernel-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: it could not be made
};

class CpuBuild : public KernelBuild {
 public:
  CpuBuild(const target::Target& target, const std::string& c_compiler, bool lenient)
      : target_(target), c_compiler_(c_compiler), lenient_(lenient) {}

  void SetLimits(const std::string& config, build::Limits& limits) override {
    if (c_compiler_.empty() || !config.starts_with(schedule::kUserKernel)) return;
    scratch_ = std::make_unique<ScratchFolder>();
    limits.sandbox_kind = build::Limits::SandboxKind::kCompiler;
    limits.scratch = scratch_->path();
    if (lenient_ && !build::CanSandbox(limits.sandbox_kind).ok()) limits.sandbox = false;
  }

  Result<BuiltKernel> Run(const std::string& workload, const std::string& config) override {
    CpuToolchain tools;
    if (scratch_ != nullptr) {
      if (scratch_->path().empty()) return ResourceExhausted("no temporary folder can be made");
      tools = {c_compiler_, scratch_->path()};
    }
    return BuildKernel(workload, config, target_, tools);
  }

 private:
  const target::Target& target_;
  const std::string& c_compiler_;
  const bool lenient_;
  std::unique_ptr<ScratchFolder> scratch_;
};

}  // namespace

Result<std::unique_ptr<CpuDevice>> CpuDevice::Create(CpuDeviceOptions options) {
  auto device = std::unique_ptr<CpuDevice>(new CpuDevice(std::move(options)));
  const CpuDeviceOptions& made = device->options_;
  device->probe_ = MLC_TRY(MachineProbe::Create(made.probe_kernels, made.target));
  if (made.target.fma_gflops <= 0) MLC_TRY(device->Calibrate());
  device->targets_ = {made.target};
  if (made.allow_user_kernels) {
    if (Result<std::string> found = build::FindCCompiler(); found.ok()) {
      device->c_compiler_ = *std::move(found);
      build::OpenVectorMath();  // the children that run kernels may open no files
    }
  }
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
  description.user_kernels = !c_compiler_.empty();
  return description;
}

Result<std::unique_ptr<KernelBuild>> CpuDevice::NewBuild(size_t /*target*/) {
  return std::unique_ptr<KernelBuild>(
      std::make_unique<CpuBuild>(target(), c_compiler_, options_.lenient));
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
