#include "worker/device/fleet/gpu_fleet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "worker/device/cuda/service_kernels.h"

namespace mlc::worker {

namespace {

std::string NameOf(const GpuDevice& gpu) {
  return "GPU " + std::to_string(gpu.ordinal) + " (" + gpu.name + ")";
}

}  // namespace

std::unique_ptr<GpuFleet> GpuFleet::Start(const GpuFleetOptions& options) {
  auto fleet = std::unique_ptr<GpuFleet>(new GpuFleet(options.awaits_runners));
  for (const GpuDevice& gpu : options.gpus) {
    DeviceSlot& slot = fleet->device_slots_.emplace_back();
    slot.process =
        std::make_unique<GpuProcess>(GpuProcessOptions{.device = gpu,
                                                       .cuda_home = options.cuda_home,
                                                       .service_image = {},
                                                       .threads = options.threads,
                                                       .measures_peaks = options.awaits_runners,
                                                       .sandbox = options.sandbox,
                                                       .run_timeout_ms = options.run_timeout_ms});
    slot.process->Ensure();
    if (options.lock_folder.empty()) continue;
    Result<GpuLock> lock = GpuLock::Open(options.lock_folder, gpu.uuid);
    if (lock.ok()) {
      slot.lock.emplace(*std::move(lock));
    } else {
      fleet->warning_ =
          "no turns are taken with other workers of this host: " + lock.status().message() +
          "; see --gpu-locks";
    }
  }
  return fleet;
}

Status GpuFleet::Finish(build::Nvrtc& nvrtc) {
  std::map<std::string, std::string> images;
  for (DeviceSlot& slot : device_slots_) {
    const std::string arch = slot.process->device().target.gpu().CudaArch();
    if (!images.contains(arch)) {
      Result<build::CudaBinary> built = nvrtc.Compile(std::string(ServiceSource()), arch);
      if (!built.ok()) return built.status().WithPrefix("the CUDA compiler");
      images[arch] = std::move(built->image);
    }
    slot.process->SetServiceImage(images[arch]);
  }
  for (DeviceSlot& slot : device_slots_) {
    const GpuDevice& gpu = slot.process->device();
    if (awaits_runners_) MLC_TRY(slot.process->AwaitReady().WithPrefix(NameOf(gpu)));
    const auto same = std::find_if(targets_.begin(), targets_.end(), [&](const auto& target) {
      return target.ClassText() == gpu.target.ClassText();
    });
    slot.target = static_cast<size_t>(same - targets_.begin());
    if (same == targets_.end()) targets_.push_back(gpu.target);
  }
  return Status();
}

Result<std::unique_ptr<GpuFleet>> GpuFleet::Create(const GpuFleetOptions& options,
                                                   build::Nvrtc& nvrtc) {
  std::unique_ptr<GpuFleet> fleet = Start(options);
  MLC_TRY(fleet->Finish(nvrtc));
  return fleet;
}

Status GpuFleet::StartFailure() const {
  for (const DeviceSlot& slot : device_slots_) {
    MLC_TRY(slot.process->start_failure().WithPrefix(NameOf(slot.process->device())));
  }
  return Status();
}

bool GpuFleet::HasIdle(size_t target) const {
  return std::any_of(device_slots_.begin(), device_slots_.end(), [&](const DeviceSlot& slot) {
    return slot.target == target && !slot.process->busy();
  });
}

int GpuFleet::busy() const {
  return static_cast<int>(
      std::count_if(device_slots_.begin(), device_slots_.end(),
                    [](const DeviceSlot& slot) { return slot.process->busy(); }));
}

int GpuFleet::busy(size_t target) const {
  return static_cast<int>(std::count_if(
      device_slots_.begin(), device_slots_.end(),
      [&](const DeviceSlot& slot) { return slot.target == target && slot.process->busy(); }));
}

int GpuFleet::size(size_t target) const {
  return static_cast<int>(
      std::count_if(device_slots_.begin(), device_slots_.end(),
                    [&](const DeviceSlot& slot) { return slot.target == target; }));
}

bool GpuFleet::Submit(size_t target, uint64_t ticket, const GpuTaskMessage& task, int descriptor) {
  const auto now = GpuLock::Clock::now();
  for (DeviceSlot& slot : device_slots_) {
    if (slot.target != target || slot.process->busy()) continue;
    if (slot.lock && !slot.lock->Take(now)) continue;
    slot.ticket = ticket;
    slot.process->Submit(task, descriptor);
    return true;
  }
  return false;
}

void GpuFleet::StopExtraSamples(size_t target) {
  for (DeviceSlot& slot : device_slots_) {
    if (slot.target == target) slot.process->StopExtraSamples();
  }
}

double GpuFleet::TakeMoreSeconds() {
  double seconds = 0;
  for (DeviceSlot& slot : device_slots_) seconds += slot.process->TakeMoreSeconds();
  return seconds;
}

void GpuFleet::Leave() {
  for (DeviceSlot& slot : device_slots_) {
    if (slot.lock && !slot.process->busy()) slot.lock->Leave();
  }
}

bool GpuFleet::waits() const {
  return std::any_of(device_slots_.begin(), device_slots_.end(),
                     [](const DeviceSlot& slot) { return slot.lock && slot.lock->waits(); });
}

std::string GpuFleet::TakeWarning() {
  for (DeviceSlot& slot : device_slots_) {
    if (warning_.empty() && slot.lock) warning_ = slot.lock->TakeWarning();
  }
  return std::exchange(warning_, {});
}

std::vector<GpuFleet::Ended> GpuFleet::Collect() {
  std::vector<Ended> ended;
  for (DeviceSlot& slot : device_slots_) {
    if (auto measurements = slot.process->Collect()) {
      ended.push_back({slot.ticket, *std::move(measurements)});
      if (slot.lock) slot.lock->EndOfKernel(GpuLock::Clock::now());
    }
  }
  return ended;
}

void GpuFleet::AddTo(std::vector<pollfd>& waiting) const {
  for (const DeviceSlot& slot : device_slots_) slot.process->AddTo(waiting);
}

}  // namespace mlc::worker
