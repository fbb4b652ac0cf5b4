#include "worker/agent/capabilities.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "worker/device/cpu/cpu_device.h"
#include "worker/device/fleet/cuda_device.h"

namespace mlc::worker {
namespace {

GpuDevice Gpu(int sms, int64_t memory_bytes) {
  mlc_cuda_device_facts facts = {};
  facts.compute = 90;
  facts.sms = sms;
  facts.block_bytes = 227 << 10;
  facts.sm_bytes = 228 << 10;
  facts.l2_bytes = 50 << 20;
  facts.clock_khz = 1'980'000;
  GpuDevice gpu;
  gpu.driver = 13'010;
  gpu.memory_bytes = memory_bytes;
  const auto target = TargetOf(facts);
  EXPECT_TRUE(target.ok()) << target.status().ToString();
  gpu.target = *target;
  return gpu;
}

DeviceDescription ThroughBytes(const DeviceDescription& device) {
  ByteWriter out;
  Put(out, device);
  const std::string bytes = out.Take();
  EXPECT_GE(bytes.size(), kMinDeviceDescription);
  ByteReader in(bytes);
  const DeviceDescription read = GetDeviceDescription(in);
  EXPECT_TRUE(in.AtEnd());
  return read;
}

TEST(CapabilitiesTest, AGpuTellsItsDriverCompilerAndMemory) {
  const std::vector<GpuDevice> gpus = {Gpu(132, 141), Gpu(132, 80), Gpu(114, 24)};
  target::Target calibrated = gpus[0].target;
  calibrated.copy_gbps = 3900;
  DeviceDescription device = DescribeGpus(gpus, calibrated);
  device.nvrtc = "13.0";
  EXPECT_EQ(device.target, calibrated.ToText());
  EXPECT_TRUE(device.tells_use);
  const proto::Capabilities told = CapabilitiesOf(ThroughBytes(device));
  EXPECT_EQ(told.memory_bytes(), 80) << "the least of its class, whatever other classes have";
  EXPECT_EQ(told.devices(), 2);
  EXPECT_EQ(told.driver(), "CUDA 13.1");
  EXPECT_EQ(told.nvrtc(), "13.0");
  EXPECT_EQ(told.llvm(), "");
  EXPECT_EQ(told.precisions_size(), 4);
  EXPECT_GT(told.kernels_size(), 0);
}

TEST(CapabilitiesTest, ACpuTargetReportsTheMachinesMemoryAndNoDriver) {
  CpuDeviceOptions options;
  options.target = target::DetectHost(2);
  options.target.fma_gflops = 1;  // given: not measured
  options.probe_kernels = *BuildProbeKernels(options.target);
  options.llvm = "19.1";
  const auto cpu = CpuDevice::Create(options);
  ASSERT_TRUE(cpu.ok()) << cpu.status().ToString();
  const DeviceDescription device = ThroughBytes((*cpu)->Describe(0));
  EXPECT_EQ(device.target, options.target.ToText());
  EXPECT_FALSE(device.tells_use);
  const proto::Capabilities told = CapabilitiesOf(device);
  EXPECT_GT(told.memory_bytes(), 1 << 20);
  EXPECT_EQ(told.devices(), 1);
  EXPECT_EQ(told.llvm(), "19.1");
  EXPECT_EQ(told.nvrtc(), "");
  EXPECT_EQ(told.driver(), "");
  EXPECT_EQ(told.precisions_size(), 0);
}

TEST(CapabilitiesTest, UserKernelsAreForDevicesThatRunThem) {
  const auto takes = [](const DeviceDescription& device) {
    const proto::Capabilities told = CapabilitiesOf(ThroughBytes(device));
    return std::find(told.kernels().begin(), told.kernels().end(), "user_kernel/1") !=
           told.kernels().end();
  };
  DeviceDescription device;
  EXPECT_FALSE(takes(device));
  device.user_kernels = true;
  EXPECT_TRUE(takes(device));
}

}  // namespace
}  // namespace mlc::worker
