// The kernels that are tuned beside Kernel Tuner: what a worker would compile of each of them, for
// a few configs. Skips without NVRTC.
#include <gtest/gtest.h>

#include "compiler/build/nvrtc.h"
#include "tests/bench/search/kernel_files.h"

namespace mlc::bench {
namespace {

class KernelsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelsTest, SomeConfigsCompile) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const auto file = OpenKernelFile(std::string(MLC_SEARCH_KERNELS) + "/" + GetParam() + ".json");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto workload = graph::Workload::Parse(file->workload);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_TRUE(schedule::CheckArguments(file->kernel.spec(), *workload).ok());
  const std::vector<std::string> configs = AllConfigs(file->kernel);
  ASSERT_GT(configs.size(), 200U);
  for (size_t i = 0; i < 3; ++i) {
    const auto config = schedule::Config::Parse(configs[i]);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const auto made = file->kernel.Instantiate(*config);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const auto binary = (*nvrtc)->Compile(made->source, "sm_90a");
    ASSERT_TRUE(binary.ok()) << binary.status().message();
    EXPECT_TRUE(build::CheckEntry(*binary, made->entry).ok()) << made->entry;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelsTest, ::testing::Values("convolution", "gemm", "nbody"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mlc::bench
