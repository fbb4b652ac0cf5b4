#include "worker/device/fleet/gpu_fleet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "worker/device/cuda/service_kernels.h"

namespace mlc::worker {

Result<std::unique_ptr<GpuFleet>> GpuFleet::Create(const GpuFleetOptions& options,
                                                   build::Nvrtc& nvrtc) {
  auto fleet = std::unique_ptr<GpuFleet>(new GpuFleet());
  std::map<std::string, std::string> images;
  for (const GpuDevice& gpu : options.gpus) {
    const std::string arch = gpu.target.CudaArch();
    if (!images.contains(arch)) {
      Result<build::CudaBinary> built = nvrtc.Compile(std::string(ServiceSource()), arch);
      if (!built.ok()) return built.status().WithPrefix("the CUDA compiler");
      images[arch] = std::move(built->image);
    }
    Seat& seat = fleet->seats_.emplace_back();
    seat.process =
        std::make_unique<GpuProcess>(GpuProcessOptions{.device = gpu,
                                                       .cuda_home = options.cuda_home,
                                                       .service_image = images[arch],
                                                       .threads = options.threads,
                                                       .sandbox = options.sandbox,
                                                       .run_timeout_ms = options.run_timeout_ms});
    seat.process->Ensure();
    if (options.lock_folder.empty()) continue;
    Result<GpuLock> lock = GpuLock::Open(options.lock_folder, gpu.uuid);
    if (lock.ok()) {
      seat.lock.emplace(*std::move(lock));
    } else {
      fleet->warning_ =
          "no turns are taken with other workers of this host: " + lock.status().message() +
          "; see --gpu-locks";
    }
  }
  MLC_TRY(fleet->Await());
  return fleet;
}

Status GpuFleet::Await() {
  for (Seat& seat : seats_) {
    const GpuDevice& gpu = seat.process->device();
    MLC_TRY(seat.process->AwaitReady().WithPrefix("GPU " + std::to_string(gpu.ordinal) + " (" +
                                                  gpu.name + ")"));
    const auto same = std::find_if(targets_.begin(), targets_.end(), [&](const auto& target) {
      return target.ClassText() == gpu.target.ClassText();
    });
    seat.target = static_cast<size_t>(same - targets_.begin());
    if (same == targets_.end()) targets_.push_back(gpu.target);
  }
  return Status();
}

bool GpuFleet::HasIdle(size_t target) const {
  return std::any_of(seats_.begin(), seats_.end(), [&](const Seat& seat) {
    return seat.target == target && !seat.process->busy();
  });
}

int GpuFleet::busy() const {
  return static_cast<int>(std::count_if(seats_.begin(), seats_.end(),
                                        [](const Seat& seat) { return seat.process->busy(); }));
}

int GpuFleet::busy(size_t target) const {
  return static_cast<int>(std::count_if(seats_.begin(), seats_.end(), [&](const Seat& seat) {
    return seat.target == target && seat.process->busy();
  }));
}

int GpuFleet::size(size_t target) const {
  return static_cast<int>(std::count_if(seats_.begin(), seats_.end(),
                                        [&](const Seat& seat) { return seat.target == target; }));
}

bool GpuFleet::Submit(size_t target, uint64_t ticket, const GpuTaskMessage& task, int descriptor) {
  const auto now = GpuLock::Clock::now();
  for (Seat& seat : seats_) {
    if (seat.target != target || seat.process->busy()) continue;
    if (seat.lock && !seat.lock->Take(now)) continue;
    seat.ticket = ticket;
    seat.process->Submit(task, descriptor);
    return true;
  }
  return false;
}

void GpuFleet::StopExtraSamples(size_t target) {
  for (Seat& seat : seats_) {
    if (seat.target == target) seat.process->StopExtraSamples();
  }
}

double GpuFleet::TakeMoreSeconds() {
  double seconds = 0;
  for (Seat& seat : seats_) seconds += seat.process->TakeMoreSeconds();
  return seconds;
}

void GpuFleet::Leave() {
  for (Seat& seat : seats_) {
    if (seat.lock && !seat.process->busy()) seat.lock->Leave();
  }
}

bool GpuFleet::waits() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const Seat& seat) { return seat.lock && seat.lock->waits(); });
}

std::string GpuFleet::TakeWarning() {
  for (Seat& seat : seats_) {
    if (warning_.empty() && seat.lock) warning_ = seat.lock->TakeWarning();
  }
  return std::exchange(warning_, {});
}

std::vector<GpuFleet::Ended> GpuFleet::Collect() {
  std::vector<Ended> ended;
  for (Seat& seat : seats_) {
    if (auto measurements = seat.process->Collect()) {
      ended.push_back({seat.ticket, *std::move(measurements)});
      if (seat.lock) seat.lock->EndOfKernel(GpuLock::Clock::now());
    }
  }
  return ended;
}

void GpuFleet::AddTo(std::vector<pollfd>& waiting) const {
  for (const Seat& seat : seats_) seat.process->AddTo(waiting);
}

}  // namespace mlc::worker
