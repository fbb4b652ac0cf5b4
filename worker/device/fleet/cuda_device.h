// The GPUs of a worker as a worker device. NVRTC builds the trials; each goes to a runner of the
// fleet immediately, while the next ones are built. This process never initialises CUDA. Not
// thread-safe. REQUIRES: the calling process has one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/build/nvrtc.h"
#include "worker/build/shared_cubins.h"
#include "worker/device/fleet/gpu_fleet.h"
#include "worker/device/fleet/gpu_usage.h"
#include "worker/device/worker_device.h"

namespace mlc::worker {

struct CudaDeviceOptions {
  target::Target host;  // where preparations of weights run
  std::vector<GpuDevice> gpus;
  // For the other fields, see WorkerOptions.
  std::string cuda_home;
  std::string cubin_cache;
  std::string gpu_locks = "/tmp";
  int builders = 1;
  bool sandbox = true;
  bool lenient = false;
  bool allow_user_kernels = false;
  bool measures_peaks = true;
  int64_t run_timeout_ms = 10'000;
  // What to do while the runners start.
  std::function<Status()> meanwhile;
};

class CudaDevice : public WorkerDevice {
 public:
  // Starts the runners, which measure peaks, and warms up the CUDA compiler. Takes a few seconds.
  // The error says what the use of a GPU lacks.
  static Result<std::unique_ptr<CudaDevice>> Create(CudaDeviceOptions options);

  const std::vector<target::Target>& targets() const override { return fleet_->targets(); }
  DeviceDescription Describe(size_t target) const override;
  MeasuringRules rules() const override;
  Result<std::unique_ptr<KernelBuild>> NewBuild(size_t target) override;
  int busy(size_t target) const override { return fleet_->busy(target); }
  bool Submit(size_t target, const DeviceTask& task) override;
  void StopExtraSamples(size_t target) override { fleet_->StopExtraSamples(target); }
  std::vector<EndedTask> Collect() override;
  int AddTo(std::vector<pollfd>& waiting, int timeout_ms) const override;
  void Note(const DeviceDemand& demand) override;
  DeviceUse Use() const override;
  std::string TakeWarning() override;
  Status StartFailure() const override { return fleet_->StartFailure(); }

 private:
  using Clock = std::chrono::steady_clock;

  explicit CudaDevice(CudaDeviceOptions options)
      : options_(std::move(options)), cubins_(options_.cubin_cache) {}
  Status CheckUserKernel() const;
  Status Start();

  CudaDeviceOptions options_;
  std::unique_ptr<build::Nvrtc> nvrtc_;
  std::unique_ptr<GpuFleet> fleet_;
  SharedCubins cubins_;
  GpuUsage usage_;
  std::map<uint64_t, Clock::time_point> submitted_;  // by ticket
};

// The number of devices of the target's class and the least memory among them.
DeviceDescription DescribeGpus(const std::vector<GpuDevice>& gpus, const target::Target& target);

}  // namespace mlc::worker
