// Runs built kernels on one GPU: checks what they write against the reference, twice, and times
// them with CUPTI. Lives in a child process that holds the context: a kernel may poison it or hang,
// and the parent replaces the process. Not thread-safe.
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
  std::string service_image;  // compiled ServiceSource()
  int threads = 1;            // for preparations and checks
};

struct GpuTask {
  const graph::Workload* workload = nullptr;
  std::span<const BuiltKernel> built;  // at least one
  uint64_t set = 0;                    // held by sets()
  double early_stop_ns = 0;
  // True while there is time for more samples of contenders; null: there is none.
  std::function<bool()> more = nullptr;
};

class GpuRunner {
 public:
  // Opens CUPTI, then the device. What is missing is an error that says what to do.
  static Result<std::unique_ptr<GpuRunner>> Create(const GpuRunnerOptions& options);
  ~GpuRunner();

  DeviceSets& sets() { return *sets_; }
  // Several kernels are timed in turns. One measurement each; one alone if a kernel failed: its.
  std::vector<Measurement> Run(const GpuTask& task);
  // Bytes read plus written per second, by copies in device memory. About 20 ms.
  Result<double> CopyGbps();
  // The context may be lost, or memory overwritten: this process must not run anything else.
  bool tainted() const { return tainted_; }
  // What the last Run() spent on more samples.
  double more_seconds() const { return static_cast<double>(more_ns_) * 1e-9; }

 private:
  // A kernel of the task under way.
  struct Contender {
    std::unique_ptr<DeviceKernel> kernel;
    std::vector<std::byte>* outputs = nullptr;  // of its checked execution
    double error = 0;
  };
  GpuRunner() = default;
  std::optional<Measurement> Prepare(const GpuTask& task, const BuiltKernel& built,
                                     Contender& contender);
  // Two executions on the same inputs; a wrong result as a measurement.
  std::optional<Measurement> Check(const GpuTask& task, Contender& contender);
  // A later execution must have given the same as the checked one.
  std::optional<Measurement> CheckSame(Contender& contender, const char* otherwise);
  GpuStage StageOf(Contender& contender);
  Result<std::vector<Timing>> Time(const GpuTask& task, std::vector<Contender>& contenders);
  Measurement Measured(const Timing& timing, double clock, double error) const;
  Measurement Wrong(const std::string& detail, double error);
  Measurement Broken(const Status& status);
  Status WarmUp();
  // Waits for the clock to rise after idle times; what it is then.
  Result<double> SteadyClock();
  void ReadCard();
  std::string DeviceNotes() const;

  int threads_ = 1;
  // In the order of their making: CUPTI comes before the context.
  std::unique_ptr<Cupti> cupti_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Nvml> nvml_;  // null where there is none
  std::unique_ptr<ServiceKernels> service_;
  std::unique_ptr<DeviceSets> sets_;
  mlc_pool* pool_ = nullptr;
  CardState card_;
  int64_t card_read_ns_ = 0;
  double best_clock_mhz_ = 0;
  bool tainted_ = false;
  int64_t more_ns_ = 0;
  // Of the checked executions and of another one; kept, because new memory takes long.
  std::deque<std::vector<std::byte>> outputs_;
  std::vector<std::byte> others_;
};

}  // namespace mlc::worker
