#include "worker/doctor/gpu_doctor.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/sandbox/child_limits.h"
#include "compiler/build/cubin_cache.h"
#include "compiler/build/nvrtc.h"
#include "worker/device/cuda/device.h"
#include "worker/device/cuda/gpu_runner.h"
#include "worker/device/fleet/gpu_devices.h"
#include "worker/device/fleet/gpu_messages.h"

namespace mlc::worker {
namespace {

constexpr int kTimeoutMs = 60'000;
// The driver waits by computing, and starts threads of its own.
constexpr int kDriverThreads = 4;

void Line(std::ostringstream& out, const char* mark, const std::string& what,
          const std::string& value) {
  out << "  " << mark << "  " << what << ": " << value << "\n";
}

std::string Gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string CudaVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Everything that needs a context, in a child: a runner is made as a worker would make it.
struct RunnerCheck {
  Status status;
  double copy_gbps = 0;
};
RunnerCheck TryRunner(const GpuDevice& gpu, const std::string& cuda_home,
                      const std::string& image) {
  Child::Options options;
  options.limits =
      build::LimitsFor({.threads = kDriverThreads, .ms = kTimeoutMs, .memory_bytes = 0});
  options.limits.open_files = 4096;
  options.limits.sandbox_kind = build::Limits::SandboxKind::kDevice;
  options.before = StartDriver;
  Result<Child> child = Child::Start(options, [&](int pipe) {
    Result<std::unique_ptr<GpuRunner>> runner =
        GpuRunner::Create({.ordinal = gpu.ordinal, .cuda_home = cuda_home, .service_image = [&] {
                             return Result<std::string>(image);
                           }});
    GpuHello hello{runner.status()};
    if (runner.ok()) {
      const Result<double> copy = (*runner)->CopyGbps();
      hello.status = copy.status();
      if (copy.ok()) hello.copy_gbps = *copy;
    }
    WriteAll(pipe, Encode(hello));
    _exit(0);
  });
  if (!child.ok()) return {child.status()};
  pollfd waiting = {child->pipe(), POLLIN, 0};
  while (child->Read()) {
    if (poll(&waiting, 1, kTimeoutMs) == 0) return {Unavailable("the device does not answer")};
  }
  const int end = child->Reap();
  const std::optional<GpuHello> hello = DecodeGpuHello(child->received());
  if (!hello) return {Internal("its runner " + DescribeEnd(end) + " " + child->ErrorText())};
  return {hello->status, hello->copy_gbps};
}

void DescribeCard(std::ostringstream& out, const GpuDevice& gpu) {
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(gpu.pci);
  if (!nvml.ok()) return Line(out, "warn", "clocks", nvml.status().message());
  const CardState card = (*nvml)->Read();
  Line(out, "ok  ", "driver", (*nvml)->DriverVersion());
  char text[160];
  std::snprintf(text, sizeof(text), "%.0f MHz now, %.0f at most, %.0f W, %.0f degrees",
                card.sm_clock_mhz, card.max_sm_clock_mhz, card.power_w, card.temperature_c);
  const std::string slowed = HardSlowdown(card.slowdown_bits);
  Line(out, slowed.empty() ? "ok  " : "warn", "clocks",
       std::string(text) +
           (slowed.empty() ? "" : "; " + slowed + ": check cooling and power supply"));
  const int64_t free = card.memory_bytes - card.memory_used_bytes;
  const bool roomy = free > int64_t{4} << 30;
  Line(out, roomy ? "ok  " : "warn", "memory",
       Gib(free) + " free of " + Gib(card.memory_bytes) +
           (roomy ? "" : ": others hold the rest; trials of large tensors may fail"));
  const bool alone = card.compute_processes == 0;
  Line(out, alone ? "ok  " : "warn", "other users of the card",
       alone ? "none"
             : std::to_string(card.compute_processes) +
                   " processes: timings suffer; stop them or take another card");
}

void DescribeCache(std::ostringstream& out, const std::string& folder) {
  if (folder.empty()) return Line(out, "ok  ", "cache of device code", "off");
  std::error_code ignored;
  if (!std::filesystem::exists(folder, ignored)) {
    return Line(out, "ok  ", "cache of device code", folder + ", not there yet");
  }
  const Result<build::CubinCache> cache = build::CubinCache::Open(folder);
  const bool writable = cache.ok() && access(folder.c_str(), W_OK) == 0;
  if (!cache.ok()) return Line(out, "warn", "cache of device code", cache.status().message());
  const build::CubinCache::Size size = cache->Measure();
  char text[96];
  std::snprintf(text, sizeof(text), ", %lld files, %.1f of %lld MiB",
                static_cast<long long>(size.files), static_cast<double>(size.bytes) / (1 << 20),
                static_cast<long long>(cache->max_bytes() >> 20));
  Line(out, writable ? "ok  " : "warn", "cache of device code",
       folder + text + (writable ? "" : "; it cannot be written: what is new is not kept"));
}

}  // namespace

Diagnosis DiagnoseGpus(const std::string& cuda_home, const std::string& cubins) {
  Diagnosis diagnosis;
  diagnosis.usable = false;
  std::ostringstream out;
  const Result<std::vector<GpuDevice>> gpus = FindGpus();
  if (!gpus.ok()) {
    Line(out, "none", "GPUs", gpus.status().message());
  } else {
    Line(out, "ok  ", "CUDA of the driver", CudaVersion(gpus->front().driver));
  }
  Result<std::unique_ptr<build::Nvrtc>> nvrtc = build::Nvrtc::Open(cuda_home);
  Line(out, nvrtc.ok() ? "ok  " : (gpus.ok() ? "FAIL" : "none"), "CUDA compiler (NVRTC)",
       nvrtc.ok() ? (*nvrtc)->version() + ", " + (*nvrtc)->path() : nvrtc.status().message());
  DescribeCache(out, cubins);
  if (gpus.ok()) {
    for (const GpuDevice& gpu : *gpus) {
      Line(out, "ok  ", "GPU " + std::to_string(gpu.ordinal),
           gpu.name + " at " + gpu.pci + ", " + Gib(gpu.memory_bytes));
      Line(out, "ok  ", "target", gpu.target.ToText());
      DescribeCard(out, gpu);
      Line(out, gpu.reaches_host ? "warn" : "ok  ", "user-supplied kernels",
           gpu.reaches_host
               ? "refused: kernels reach the memory of their process (HMM or ATS); the module "
                 "nvidia-uvm has uvm_disable_hmm=1 against HMM"
               : "can be sandboxed; they take --allow-user-kernels");
      if (!nvrtc.ok()) continue;
      const Result<build::CudaBinary> built =
          (*nvrtc)->Compile(std::string(ServiceSource()), gpu.target.gpu().CudaArch());
      const RunnerCheck check =
          built.ok() ? TryRunner(gpu, cuda_home, built->image) : RunnerCheck{built.status()};
      char text[64];
      std::snprintf(text, sizeof(text), "ready, copies at %.0f GB/s", check.copy_gbps);
      Line(out, check.status.ok() ? "ok  " : "FAIL", "context and kernel records (CUPTI)",
           check.status.ok() ? text : check.status.message());
      diagnosis.usable = diagnosis.usable || check.status.ok();
    }
  }
  diagnosis.report = out.str();
  return diagnosis;
}

}  // namespace mlc::worker
