// All GPUs of a worker: a runner child each, and which of them takes the next task. Devices of one
// class are one target. Not thread-safe. REQUIRES: the calling process has one thread and has not
// initialised CUDA.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/build/nvrtc.h"
#include "worker/gpu/gpu_process.h"

namespace mlc::worker {

struct GpuFleetOptions {
  std::vector<GpuDevice> gpus;
  std::string cuda_home;
  int threads = 1;  // of each runner, for preparations and checks
  bool sandbox = true;
  int64_t run_timeout_ms = 10'000;
};

class GpuFleet {
 public:
  // Compiles the runners' own kernels, which warms the compiler up, too; starts the runners and
  // waits until all are ready. The error of a device that cannot be used names it and says why.
  static Result<std::unique_ptr<GpuFleet>> Create(const GpuFleetOptions& options,
                                                  build::Nvrtc& nvrtc);

  // One for each class of devices, with measured peaks.
  const std::vector<target::Target>& targets() const { return targets_; }

  // A device of the class is free.
  bool HasIdle(size_t target) const;
  bool AllIdle() const;
  // REQUIRES: HasIdle(target). `ticket` comes back with the result.
  void Submit(size_t target, uint64_t ticket, GpuTaskMessage task, int descriptor);

  struct Ended {
    uint64_t ticket = 0;
    Measurement measurement;
  };
  std::vector<Ended> Collect();
  // For poll().
  void AddTo(std::vector<pollfd>& waiting) const;

 private:
  struct Seat {
    std::unique_ptr<GpuProcess> process;
    size_t target = 0;
    uint64_t ticket = 0;
  };
  GpuFleet() = default;
  Status Await();

  std::vector<Seat> seats_;
  std::vector<target::Target> targets_;
};

}  // namespace mlc::worker
