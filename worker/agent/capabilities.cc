#include "worker/agent/capabilities.h"

#include <poll.h>

#include <algorithm>

#include "base/machine/memory.h"
#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/sandbox/child_limits.h"
#include "compiler/build/nvrtc.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::worker {
namespace {

constexpr int kTimeoutMs = 60'000;

std::string CudaVersion(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void DescribeGpus(const Toolkit& toolkit, const std::string& target_class,
                  proto::Capabilities& capabilities) {
  capabilities.set_nvrtc(toolkit.nvrtc);
  int devices = 0;
  for (const GpuDevice& gpu : toolkit.gpus) {
    if (gpu.target.ClassText() != target_class) continue;
    ++devices;
    const int64_t least = capabilities.memory_bytes();
    capabilities.set_memory_bytes(least == 0 ? gpu.memory_bytes
                                             : std::min(least, gpu.memory_bytes));
    capabilities.set_driver(CudaVersion(gpu.driver));
  }
  capabilities.set_devices(devices);
  for (const char* precision : {"fp32", "tf32", "fp16", "bf16"}) {
    capabilities.add_precisions(precision);
  }
}

}  // namespace

std::string FindNvrtc(const EngineOptions& options) {
  if (options.gpus.empty()) return {};
  Child::Options child_options;
  child_options.limits = build::LimitsFor({.ms = kTimeoutMs, .memory_bytes = 0});
  child_options.limits.open_files = 4096;
  child_options.limits.sandbox = false;  // compiles nothing
  Result<Child> child = Child::Start(child_options, [&options](int pipe) {
    const auto nvrtc = build::Nvrtc::Open(options.cuda_home);
    if (nvrtc.ok()) WriteAll(pipe, (*nvrtc)->version());
  });
  if (!child.ok()) return {};
  pollfd waiting = {child->pipe(), POLLIN, 0};
  while (child->Read()) {
    if (poll(&waiting, 1, kTimeoutMs) == 0) return {};
  }
  (void)child->Reap();
  return child->received();
}

proto::Capabilities CapabilitiesOf(const Toolkit& toolkit, const std::string& target) {
  proto::Capabilities capabilities;
  for (const schedule::Family* family : schedule::Families()) {
    capabilities.add_kernels(std::string(family->name()) + "/" + std::to_string(family->version()));
  }
  const Result<target::Target> parsed = target::Target::Parse(target);
  if (parsed.ok() && parsed->As<target::GpuTarget>() != nullptr) {
    if (toolkit.allow_user_kernels) capabilities.add_kernels(schedule::UserKernelName());
    DescribeGpus(toolkit, parsed->ClassText(), capabilities);
    return capabilities;
  }
  capabilities.set_devices(1);
  capabilities.set_llvm(toolkit.llvm);
  capabilities.set_memory_bytes(target::UsableMemory());
  return capabilities;
}

}  // namespace mlc::worker
