// All GPUs of a worker: a runner child each, and which of them takes the next task. Devices of one
// class are one target. Not thread-safe. REQUIRES: the calling process has one thread and has not
// initialised CUDA.
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
  // Where the locks are that workers of one host share; empty: none.
  std::string lock_folder = "/tmp";
};

class GpuFleet {
 public:
  // Compiles the runners' own kernels, which warms the compiler up, too; starts the runners and
  // waits until all are ready. The error of a device that cannot be used names it and says why.
  static Result<std::unique_ptr<GpuFleet>> Create(const GpuFleetOptions& options,
                                                  build::Nvrtc& nvrtc);

  // One for each class of devices, with measured peaks.
  const std::vector<target::Target>& targets() const { return targets_; }

  // A device of the class is free, as far as this worker uses it.
  bool HasIdle(size_t target) const;
  bool AllIdle() const { return busy() == 0; }
  int busy() const;
  int busy(size_t target) const;
  int size(size_t target) const;
  int size() const { return static_cast<int>(device_slots_.size()); }
  // `ticket` comes back with the result. False while another worker of this host has its turn on
  // all that are free: to be tried again within 10 ms.
  bool Submit(size_t target, uint64_t ticket, const GpuTaskMessage& task, int descriptor);
  // A task waits for a device of the class: busy devices stop sampling beyond the protocol.
  void StopExtraSamples(size_t target);
  // Time that devices spent on more samples, since the last call.
  double TakeMoreSeconds();
  // There is nothing to submit: others need not wait for this worker.
  void Leave();
  // The last Submit was told to wait.
  bool waits() const;
  // That turns are not taken as they should be, once; empty: nothing new.
  std::string TakeWarning();

  struct Ended {
    uint64_t ticket = 0;
    std::vector<Measurement> measurements;  // see GpuReport
  };
  std::vector<Ended> Collect();
  // For poll().
  void AddTo(std::vector<pollfd>& waiting) const;

 private:
  struct DeviceSlot {
    std::unique_ptr<GpuProcess> process;
    std::optional<GpuLock> lock;  // none: the device is not shared, or no file can be made
    size_t target = 0;
    uint64_t ticket = 0;
  };
  GpuFleet() = default;
  Status Await();

  std::vector<DeviceSlot> device_slots_;
  std::vector<target::Target> targets_;
  std::string warning_;
};

}  // namespace mlc::worker
