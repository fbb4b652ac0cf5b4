#include "worker/agent/capabilities.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(CapabilitiesTest, AGpuTellsItsDriverCompilerAndMemory) {
  const Toolkit toolkit{"19.1", "13.0", {Gpu(132, 141), Gpu(132, 80), Gpu(114, 24)}};
  target::Target calibrated = toolkit.gpus[0].target;
  calibrated.copy_gbps = 3900;
  const proto::Capabilities told = CapabilitiesOf(toolkit, calibrated.ToText());
  EXPECT_EQ(told.memory_bytes(), 80) << "the least of its class, whatever other classes have";
  EXPECT_EQ(told.devices(), 2);
  EXPECT_EQ(told.driver(), "CUDA 13.1");
  EXPECT_EQ(told.nvrtc(), "13.0");
  EXPECT_EQ(told.llvm(), "");
  EXPECT_EQ(told.precisions_size(), 4);
  EXPECT_GT(told.kernels_size(), 0);
}

TEST(CapabilitiesTest, ACpuTargetReportsTheMachinesMemoryAndNoDriver) {
  const Toolkit toolkit{"19.1", "13.0", {Gpu(132, 141)}};
  const proto::Capabilities told = CapabilitiesOf(toolkit, target::DetectHost(2).ToText());
  EXPECT_GT(told.memory_bytes(), 1 << 20);
  EXPECT_EQ(told.devices(), 1);
  EXPECT_EQ(told.llvm(), "19.1");
  EXPECT_EQ(told.nvrtc(), "");
  EXPECT_EQ(told.driver(), "");
}

TEST(CapabilitiesTest, UserKernelsAreForGpusThatAllowThem) {
  const auto takes = [](const Toolkit& toolkit, const std::string& target) {
    const proto::Capabilities told = CapabilitiesOf(toolkit, target);
    return std::find(told.kernels().begin(), told.kernels().end(), "user_kernel/1") !=
           told.kernels().end();
  };
  Toolkit toolkit{"19.1", "13.0", {Gpu(132, 141)}};
  const std::string gpu = toolkit.gpus[0].target.ToText();
  EXPECT_FALSE(takes(toolkit, gpu));
  toolkit.allow_user_kernels = true;
  EXPECT_TRUE(takes(toolkit, gpu));
  EXPECT_FALSE(takes(toolkit, target::DetectHost(2).ToText()));
}

TEST(CapabilitiesTest, WithoutAGpuNoCompilerIsLookedFor) { EXPECT_EQ(FindNvrtc({}), ""); }

}  // namespace
}  // namespace mlc::worker
