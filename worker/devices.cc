#include "worker/devices.h"

#include "base/sandbox/child_limits.h"
#include "worker/device/cpu/cpu_device.h"
#include "worker/device/fleet/cuda_device.h"
#include "worker/measure/calibration.h"
#include "worker/measure/machine_probe.h"

namespace mlc::worker {
namespace {

constexpr int64_t kStartTimeoutMs = 120'000;  // GPUs take their time

using Made = Result<std::unique_ptr<WorkerDevice>>;

bool WantsCpu(const WorkerOptions& options) { return options.cpu; }

Made MakeCpu(const WorkerOptions& options, const std::string& probe_kernels) {
  return Made(MLC_TRY(CpuDevice::Create({.target = options.target,
                                         .probe_kernels = probe_kernels,
                                         .llvm = options.llvm,
                                         .sandbox = options.sandbox,
                                         .lenient = options.lenient,
                                         .allow_user_kernels = options.allow_user_kernels,
                                         .run_timeout_ms = options.run_timeout_ms})));
}

bool WantsCuda(const WorkerOptions& options) { return !options.gpus.empty(); }

Made MakeCuda(const WorkerOptions& options, const std::string& probe_kernels) {
  // Whatever the devices: LLVM, which compiles preparations for GPUs, too, is warm from then on.
  const auto warm_up = [&] {
    return probe_kernels.empty() ? BuildProbeKernels(options.target).status() : Status();
  };
  return Made(MLC_TRY(CudaDevice::Create({.host = options.target,
                                          .gpus = options.gpus,
                                          .cuda_home = options.cuda_home,
                                          .cubin_cache = options.cubin_cache,
                                          .gpu_locks = options.gpu_locks,
                                          .builders = options.builders,
                                          .sandbox = options.sandbox,
                                          .lenient = options.lenient,
                                          .allow_user_kernels = options.allow_user_kernels,
                                          .measures_peaks = options.measures_gpu_peaks,
                                          .run_timeout_ms = options.run_timeout_ms,
                                          .meanwhile = warm_up})));
}

// In the order of the engine's targets.
constexpr struct {
  bool (*wanted)(const WorkerOptions& options);
  Made (*make)(const WorkerOptions& options, const std::string& probe_kernels);
} kDevices[] = {{WantsCpu, MakeCpu}, {WantsCuda, MakeCuda}};

}  // namespace

Result<std::unique_ptr<Engine>> CreateEngine(const WorkerOptions& options) {
  std::string probe_kernels;
  if (options.cpu) probe_kernels = MLC_TRY(BuildProbeKernels(options.target));
  std::vector<std::unique_ptr<WorkerDevice>> devices;
  for (const auto& [wanted, make] : kDevices) {
    if (wanted(options)) devices.push_back(MLC_TRY(make(options, probe_kernels)));
  }
  if (devices.empty()) return InvalidArgument("a worker needs at least one device");
  return std::make_unique<Engine>(EngineOptions{.builders = options.builders,
                                                .sandbox = options.sandbox,
                                                .build_memory_bytes = options.build_memory_bytes,
                                                .build_timeout_ms = options.build_timeout_ms,
                                                .references = options.references},
                                  std::move(devices));
}

Result<std::unique_ptr<EngineProcess>> StartEngineProcess(const WorkerOptions& options) {
  const build::ChildWork calibration = CalibrationWork(options.target.cpu().threads);
  const int64_t timeout_ms = kStartTimeoutMs + build::WallMs(calibration, build::ThisMachine());
  return EngineProcess::Start([&options] { return CreateEngine(options); }, timeout_ms);
}

}  // namespace mlc::worker
