// All GPUs of a worker, each with a runner child. The fleet chooses the GPU for each task. Devices
// of one class form one target. Not thread-safe. REQUIRES: the calling process has one thread and
// has not initialised CUDA.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/build/nvrtc.h"
#include "worker/device/fleet/gpu_lock.h"
#include "worker/device/fleet/gpu_process.h"

namespace mlc::worker {

struct GpuFleetOptions {
  std::vector<GpuDevice> gpus;
  std::string cuda_home;
  int threads = 1;  // of each runner, for preparations and checks
  bool sandbox = true;
  int64_t run_timeout_ms = 10'000;
  // Folder of the locks that the workers of one host share; empty: no locks.
  std::string lock_folder = "/tmp";
  // False: does not wait for the runners, and the targets lack the peaks that these measure.
  bool awaits_runners = true;
};

class GpuFleet {
 public:
  // Starts the runners, which takes as long as the driver does, and returns at once.
  static std::unique_ptr<GpuFleet> Start(const GpuFleetOptions& options);
  // Compiles the runners' own kernels meanwhile, which also warms up the compiler, and waits until
  // all runners are ready. The error names the unusable device and the reason. Call it once.
  Status Finish(build::Nvrtc& nvrtc);
  // Both.
  static Result<std::unique_ptr<GpuFleet>> Create(const GpuFleetOptions& options,
                                                  build::Nvrtc& nvrtc);

  // One for each class of devices, with measured peaks. Empty before Finish.
  const std::vector<target::Target>& targets() const { return targets_; }

  // True if this worker has an idle device of the class.
  bool HasIdle(size_t target) const;
  bool AllIdle() const { return busy() == 0; }
  int busy() const;
  int busy(size_t target) const;
  int size(size_t target) const;
  int size() const { return static_cast<int>(device_slots_.size()); }
  // Gives the task to a free device; `ticket` is returned with the result. False while another
  // worker of this host has its turn on all free devices; try again within 10 ms.
  bool Submit(size_t target, uint64_t ticket, const GpuTaskMessage& task, int descriptor);
  // A task waits for a device of the class: busy devices stop taking extra samples.
  void StopExtraSamples(size_t target);
  // The time in seconds that the devices spent on extra samples since the last call.
  double TakeMoreSeconds();
  // Gives up the worker's turns, because it has nothing to submit.
  void Leave();
  // True if the last Submit has to wait for another worker.
  bool waits() const;
  // Why a runner did not start, where Finish did not wait for it.
  Status StartFailure() const;
  // A new warning that turns are not respected; empty if there is none.
  std::string TakeWarning();

  struct Ended {
    uint64_t ticket = 0;
    std::vector<Measurement> measurements;  // see GpuReport
  };
  std::vector<Ended> Collect();
  // Adds the descriptors of the runners, for poll().
  void AddTo(std::vector<pollfd>& waiting) const;

 private:
  struct DeviceSlot {
    std::unique_ptr<GpuProcess> process;
    std::optional<GpuLock> lock;  // none: the device is not shared, or the lock file cannot be made
    size_t target = 0;
    uint64_t ticket = 0;
  };
  explicit GpuFleet(bool awaits_runners) : awaits_runners_(awaits_runners) {}

  const bool awaits_runners_;
  std::vector<DeviceSlot> device_slots_;
  std::vector<target::Target> targets_;
  std::string warning_;
};

}  // namespace mlc::worker
