// Runs built kernels on one GPU: checks their results against the reference twice, and times them
// with CUPTI. It runs in a child process that owns the context, because a kernel may corrupt it or
// hang; the parent replaces the process. Not thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/measurement.h"
#include "compiler/runtime/thread_pool.h"
#include "worker/device/cuda/cupti.h"
#include "worker/device/cuda/device_kernel.h"
#include "worker/device/cuda/device_sets.h"
#include "worker/device/cuda/gpu_timing.h"
#include "worker/device/cuda/nvml.h"
#include "worker/device/cuda/service_kernels.h"
#include "worker/measure/timing.h"

namespace mlc::worker {

struct GpuRunnerOptions {
  int ordinal = 0;
  std::string cuda_home;
  // Compiled ServiceSource(). Asked once the context is there, so that it may come late.
  std::function<Result<std::string>()> service_image;
  int threads = 1;  // for preparations and checks
};

struct GpuTask {
  const graph::Workload* workload = nullptr;
  std::span<const BuiltKernel> built;  // at least one
  uint64_t set = 0;                    // serial of a set in sets()
  double early_stop_ns = 0;
  // True while there is time for more samples of contenders; null: never.
  std::function<bool()> more = nullptr;
};

class GpuRunner {
 public:
  // Opens CUPTI, then the device. If something is missing, the error says what to do.
  static Result<std::unique_ptr<GpuRunner>> Create(const GpuRunnerOptions& options);
  ~GpuRunner();

  DeviceSets& sets() { return *sets_; }
  // Times several kernels in turns. Returns one measurement per kernel; if a kernel fails, only the
  // measurement of that one.
  std::vector<Measurement> Run(const GpuTask& task);
  // The copy bandwidth of device memory in GB/s, bytes read plus written. Takes about 20 ms.
  Result<double> CopyGbps();
  // True if the context may be lost or memory damaged: this process must not run another kernel.
  bool tainted() const { return tainted_; }
  // The time that the last Run() spent on extra samples.
  double more_seconds() const { return static_cast<double>(more_ns_) * 1e-9; }

 private:
  // A kernel of the current task.
  struct Contender {
    std::unique_ptr<DeviceKernel> kernel;
    std::vector<std::byte>* outputs = nullptr;  // outputs of its checked execution
    double error = 0;
  };
  GpuRunner() = default;
  std::optional<Measurement> Prepare(const GpuTask& task, const BuiltKernel& built,
                                     Contender& contender);
  // Runs two executions on the same inputs; a measurement if a result is wrong.
  std::optional<Measurement> Check(const GpuTask& task, Contender& contender);
  // Checks that a later execution gives the same results as the checked one.
  std::optional<Measurement> CheckSame(Contender& contender, const char* otherwise);
  GpuStage StageOf(Contender& contender);
  Result<std::vector<Timing>> Time(const GpuTask& task, std::vector<Contender>& contenders);
  Measurement Measured(const Timing& timing, double clock, double error) const;
  Measurement Wrong(const std::string& detail, double error);
  Measurement Broken(const Status& status);
  Status WarmUp();
  // Waits until the clock has risen after an idle time, and returns it.
  Result<double> SteadyClock();
  void ReadCard();
  std::string DeviceNotes() const;

  int threads_ = 1;
  // In the order of construction: CUPTI before the context.
  std::unique_ptr<Cupti> cupti_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Nvml> nvml_;  // null without NVML
  std::unique_ptr<ServiceKernels> service_;
  std::unique_ptr<DeviceSets> sets_;
  mlc_pool* pool_ = nullptr;
  CardState card_;
  int64_t card_read_ns_ = 0;
  double best_clock_mhz_ = 0;
  bool tainted_ = false;
  int64_t more_ns_ = 0;
  // Outputs of the checked executions and of a later one; kept, because allocation takes long.
  std::deque<std::vector<std::byte>> outputs_;
  std::vector<std::byte> others_;
};

}  // namespace mlc::worker
