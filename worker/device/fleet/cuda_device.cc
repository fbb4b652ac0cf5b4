#include "worker/device/fleet/cuda_device.h"

#include <algorithm>
#include <utility>

#include "base/sandbox/sandbox.h"

namespace mlc::worker {
namespace {

// More would take the CPUs from the compilers for little.
constexpr int kGpuHostThreads = 8;

// Kernels timed as an interleaved group.
constexpr size_t kMaxTogether = 8;

// Another worker's turn on a GPU ends without a word.
constexpr int kLockPollMs = 10;

std::string CudaVersion(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The device that made it outlives it.
class CudaBuild : public KernelBuild {
 public:
  CudaBuild(const target::Target& target, CudaToolchain tools, SharedCubins& cubins,
            std::unique_ptr<CubinExchange> exchange)
      : target_(target),
        tools_(std::move(tools)),
        cubins_(cubins),
        exchange_(std::move(exchange)) {}

  Result<BuiltKernel> Run(const std::string& workload, const std::string& config) override {
    const auto asking = exchange_ != nullptr ? exchange_->Compiler(*tools_.nvrtc) : nullptr;
    CudaToolchain tools = tools_;
    if (asking != nullptr) tools.nvrtc = asking.get();
    return BuildKernel(workload, config, target_, tools);
  }
  std::vector<int> ChildDescriptors() const override {
    return exchange_ != nullptr ? exchange_->ChildDescriptors() : std::vector<int>();
  }
  void OnStarted() override {
    if (exchange_ != nullptr) exchange_->CloseChildSide();
  }
  int fd() const override { return exchange_ != nullptr ? exchange_->fd() : -1; }
  void Serve() override {
    if (exchange_ != nullptr) cubins_.Serve(*exchange_, *tools_.nvrtc);
  }

 private:
  const target::Target& target_;
  CudaToolchain tools_;
  SharedCubins& cubins_;
  std::unique_ptr<CubinExchange> exchange_;  // null without a cache
};

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::Create(CudaDeviceOptions options) {
  auto device = std::unique_ptr<CudaDevice>(new CudaDevice(std::move(options)));
  MLC_TRY(device->Start());
  return device;
}

// In the sandbox a kernel's author reaches only what the device holds. On a device that
// reaches the memory of its process, the author would write its results and, with code that runs
// there, read the files that its user may read.
Status CudaDevice::CheckUserKernel() const {
  if (!options_.allow_user_kernels || !options_.sandbox || options_.lenient) return Status();
  for (const GpuDevice& gpu : options_.gpus) {
    if (!gpu.reaches_host) continue;
    return FailedPrecondition(
        "--allow-user-kernels is refused: kernels on GPU " + std::to_string(gpu.ordinal) + " (" +
        gpu.name +
        ") reach all memory of the process that drives it, so no sandbox contains user-supplied "
        "kernels. Where that is HMM, load the module nvidia-uvm with uvm_disable_hmm=1; leave such "
        "GPUs out with CUDA_VISIBLE_DEVICES; or accept it with --sandbox=off");
  }
  return Status();
}

Status CudaDevice::Start() {
  MLC_TRY(CheckUserKernel());
  const Status sandbox = build::CanSandbox(build::Limits::SandboxKind::kDevice);
  if (options_.sandbox && !options_.lenient) MLC_TRY(sandbox);
  // Before the compiler is opened: the driver takes longest to start.
  fleet_ = GpuFleet::Start({.gpus = options_.gpus,
                            .cuda_home = options_.cuda_home,
                            .threads = std::clamp(options_.builders, 1, kGpuHostThreads),
                            .sandbox = options_.sandbox && sandbox.ok(),
                            .run_timeout_ms = options_.run_timeout_ms,
                            .lock_folder = options_.gpu_locks,
                            .awaits_runners = options_.measures_peaks});
  if (options_.meanwhile) MLC_TRY(options_.meanwhile());
  nvrtc_ = MLC_TRY(build::Nvrtc::Open(options_.cuda_home));
  return fleet_->Finish(*nvrtc_);
}

DeviceDescription CudaDevice::Describe(size_t target) const {
  DeviceDescription description = DescribeGpus(options_.gpus, targets()[target]);
  description.nvrtc = nvrtc_->version();
  description.user_kernels = options_.allow_user_kernels;
  return description;
}

MeasuringRules CudaDevice::rules() const { return {.alone = false, .most_together = kMaxTogether}; }

Result<std::unique_ptr<KernelBuild>> CudaDevice::NewBuild(size_t target) {
  std::unique_ptr<CubinExchange> exchange;
  if (cubins_.used()) exchange = MLC_TRY(CubinExchange::Open());
  CudaToolchain tools{nvrtc_.get(), options_.host, options_.allow_user_kernels};
  return std::unique_ptr<KernelBuild>(std::make_unique<CudaBuild>(
      targets()[target], std::move(tools), cubins_, std::move(exchange)));
}

bool CudaDevice::Submit(size_t target, const DeviceTask& task) {
  GpuTaskMessage message;
  message.workload = task.workload_text;
  message.set = task.set->serial();
  message.early_stop_ns = task.early_stop_ns;
  message.may_take_more_samples = task.may_take_more_samples;
  for (const BuiltKernel* kernel : task.kernels) message.built.push_back(Encode(*kernel));
  if (!fleet_->Submit(target, task.ticket, message, task.set->descriptor())) return false;
  submitted_[task.ticket] = Clock::now();
  return true;
}

std::vector<EndedTask> CudaDevice::Collect() {
  std::vector<EndedTask> tasks;
  for (GpuFleet::Ended& ended : fleet_->Collect()) {
    usage_.CountTrials(static_cast<int64_t>(ended.measurements.size()));
    const std::chrono::duration<double> took = Clock::now() - submitted_[ended.ticket];
    submitted_.erase(ended.ticket);
    tasks.push_back({ended.ticket, std::move(ended.measurements), took.count()});
  }
  usage_.CountMore(fleet_->TakeMoreSeconds());
  return tasks;
}

int CudaDevice::AddTo(std::vector<pollfd>& waiting, int timeout_ms) const {
  fleet_->AddTo(waiting);
  return fleet_->waits() ? std::min(timeout_ms, kLockPollMs) : timeout_ms;
}

void CudaDevice::Note(const DeviceDemand& demand) {
  GpuMoment moment;
  moment.gpus = fleet_->size();
  moment.busy = fleet_->busy();
  moment.locked = fleet_->waits();
  moment.builders = demand.builders;
  moment.held = demand.held;
  moment.unbuilt = demand.unbuilt;
  moment.unchecked = demand.unchecked;
  moment.building = demand.building;
  usage_.Note(moment, GpuUsage::Clock::now());
  // Between jobs, and while all trials are being built, the card is free for others.
  if (moment.busy == 0 && !moment.locked) fleet_->Leave();
}

DeviceUse CudaDevice::Use() const {
  const std::string usage = usage_.ToText(), cubins = cubins_.ToText();
  return {.trial_s = usage_.trial_seconds(),
          .busy_s = usage_.busy_seconds(),
          .text = usage + (usage.empty() || cubins.empty() ? "" : "; ") + cubins};
}

std::string CudaDevice::TakeWarning() {
  if (std::string warning = cubins_.TakeWarning(); !warning.empty()) return warning;
  return fleet_->TakeWarning();
}

// Any GPU of the class may get a trial.
DeviceDescription DescribeGpus(const std::vector<GpuDevice>& gpus, const target::Target& target) {
  DeviceDescription description;
  description.target = target.ToText();
  description.kind = "GPU";
  description.devices = 0;
  for (const GpuDevice& gpu : gpus) {
    if (gpu.target.ClassText() != target.ClassText()) continue;
    const int64_t least = description.memory_bytes;
    description.memory_bytes =
        ++description.devices == 1 ? gpu.memory_bytes : std::min(least, gpu.memory_bytes);
    description.driver = CudaVersion(gpu.driver);
  }
  description.precisions = {"fp32", "tf32", "fp16", "bf16"};
  description.tells_use = true;
  return description;
}

}  // namespace mlc::worker
