// What the engine keeps with every device (tests/conformance/devices), on the first GPU.
#include <cstdlib>
#include <string_view>

#include "tests/conformance/devices/device_suite.h"
#include "worker/device/fleet/cuda_device.h"

namespace mlc::testing {
namespace {

using Made = Result<std::unique_ptr<worker::WorkerDevice>>;

std::string Missing() {
  const auto gpus = worker::FindGpus();
  if (!gpus.ok()) return gpus.status().message();
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  return nvrtc.ok() ? "" : nvrtc.status().message();
}

Made FirstGpu() {
  worker::CudaDeviceOptions options;
  options.host = target::DetectHost(2);
  options.gpus = MLC_TRY(worker::FindGpus());
  options.gpus.resize(1);
  options.gpus.front().target.copy_gbps = 1;  // given: not measured
  options.cuda_home = MLC_SOURCE_DIR "/build/cuda";
  options.gpu_locks = ::testing::TempDir();
  // For hosts whose driver does not work in the sandbox.
  const char* sandbox = std::getenv("MLC_TEST_SANDBOX");
  options.sandbox = sandbox == nullptr || std::string_view(sandbox) != "off";
  return Made(MLC_TRY(worker::CudaDevice::Create(std::move(options))));
}

void Leave(const std::string& /*fault*/, worker::BuiltKernel& /*built*/) {}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest,
                         ::testing::Values(DeviceSubject{"Gpu", Missing, FirstGpu, Leave, false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlc::testing
