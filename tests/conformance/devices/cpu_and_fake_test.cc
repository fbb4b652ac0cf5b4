// The suite on the CPU, on fakes of both kinds, and on GPUs of a driver that pretends
// (tests/unit/worker/fake_cuda). tests/gpu has it on a device.
#include "tests/conformance/devices/device_suite.h"
#include "tests/support/worker/fake_device.h"
#include "worker/device/cpu/cpu_device.h"
#include "worker/device/fleet/cuda_device.h"
#include "worker/measure/probe_kernels.h"

namespace mlc::testing {
namespace {

using Made = Result<std::unique_ptr<worker::WorkerDevice>>;

std::string Nothing() { return {}; }

Made Cpu() {
  worker::CpuDeviceOptions options;
  options.target = target::DetectHost(2);
  options.target.fma_gflops = 1;  // given: not measured
  options.probe_kernels = MLC_TRY(worker::BuildProbeKernels(options.target));
  options.run_timeout_ms = 60'000;
  return Made(MLC_TRY(worker::CpuDevice::Create(std::move(options))));
}

void SpoilForCpu(const std::string& fault, worker::BuiltKernel& built) {
  // Inputs are mapped read-only.
  if (fault == kCrashingKernel) built.bindings.back() = built.bindings.front();
}

Made FakeAlone() {
  return Made(std::make_unique<FakeDevice>(FakeDeviceOptions{.rules = {.alone = true}}));
}

Made FakeFleet() {
  return Made(std::make_unique<FakeDevice>(
      FakeDeviceOptions{.rules = {.alone = false, .most_together = 8}, .devices = 2}));
}

void SpoilForFake(const std::string& fault, worker::BuiltKernel& built) {
  if (fault == kCrashingKernel) built.object = FakeDevice::kCrashes;
}

std::string MissingForFakeGpu() {
  if (!build::Nvrtc::Open("").ok()) return "no CUDA compiler (NVRTC) here";
  const auto gpus = worker::FindGpus();
  if (!gpus.ok()) return gpus.status().message();
  return gpus->front().name.starts_with("Fake GPU") ? "" : "a real driver is in the way";
}

Made FakeGpu() {
  worker::CudaDeviceOptions options;
  options.host = target::DetectHost(2);
  options.gpus = MLC_TRY(worker::FindGpus());
  options.gpus.resize(1);
  options.cuda_home = MLC_FAKE_CUDA;
  options.gpu_locks = "";
  options.run_timeout_ms = 60'000;
  return Made(MLC_TRY(worker::CudaDevice::Create(std::move(options))));
}

// The image is what the pretended device does, whatever code it is given.
void SpoilForFakeGpu(const std::string& fault, worker::BuiltKernel& built) {
  built.device->image = fault == kWrongKernel      ? "wrong 1000"
                        : fault == kCrashingKernel ? "illegal"
                                                   : "right 1000";
}

INSTANTIATE_TEST_SUITE_P(
    Devices, DeviceTest,
    ::testing::Values(DeviceSubject{"Cpu", Nothing, Cpu, SpoilForCpu, true},
                      DeviceSubject{"FakeAlone", Nothing, FakeAlone, SpoilForFake, true},
                      DeviceSubject{"FakeFleet", Nothing, FakeFleet, SpoilForFake, true},
                      DeviceSubject{"FakeGpu", MissingForFakeGpu, FakeGpu, SpoilForFakeGpu, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlc::testing
