#include "costmodel/default_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::costmodel {
namespace {

TEST(DefaultConfigTest, IsTheDefaultOfAFamilyAndNoWorseThanThePreferredOnes) {
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512;
  target.cpu().threads = 2;
  for (const graph::Workload& workload :
       {MakeConv(64, 56, 64, 3), MakeConv(256, 14, 512, 1), MakeConv(3, 32, 8, 3)}) {
    const auto families = schedule::FamiliesFor(workload, target);
    const auto configs = DefaultConfigs(workload, target);
    ASSERT_EQ(configs.size(), families.size());
    for (const schedule::Family* family : families) {
      const schedule::Config config = family->Default(workload, target);
      EXPECT_EQ(std::count(configs.begin(), configs.end(), config), 1);
    }
    EXPECT_EQ(*DefaultConfig(workload, target), configs.front());
    const auto estimate = [&](const schedule::Config& config) {
      const schedule::Family& family = *schedule::FindFamily(config.family);
      return EstimateKernel(family.Facts(workload, target, config), target).total_ns;
    };
    EXPECT_LE(estimate(configs.front()), estimate(families[0]->Default(workload, target)));
  }
}

graph::Workload Product(const std::string& dtype, int m, int k, int n) {
  const auto type = [&](int rows, int columns) {
    return dtype + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]\n";
  };
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-2 {\n%0 = input() : " + type(m, k) +
      "%1 = weight() : " + type(k, n) + "%2 = matmul(%0, %1) : " + type(m, n) + "return %2\n}\n");
  EXPECT_TRUE(workload.ok()) << workload.status().ToString();
  return *workload;
}

// Hopper's matrix instructions are worth their large tiles where there is enough to multiply, and
// warps with roles where there is so much that their beginning does not count, whatever the
// calibration says.
TEST(DefaultConfigTest, WarpgroupsMultiplyWhatIsLarge) {
  for (const char* peaks : {"", " fma_gflops=66908 tensor_gflops=1070530 copy_gbps=4150"}) {
    const auto hopper = target::Target::Parse(
        std::string("target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560") +
        peaks);
    ASSERT_TRUE(hopper.ok());
    const auto family = [&](int m, int k, int n, const char* dtype = "f16") {
      return DefaultConfig(Product(dtype, m, k, n), *hopper)->family;
    };
    EXPECT_EQ(family(8192, 8192, 8192), "role_contraction");
    EXPECT_EQ(family(4096, 4096, 4096), "role_contraction");
    EXPECT_EQ(family(4096, 4096, 4096, "bf16"), "role_contraction");
    EXPECT_EQ(family(2048, 2048, 2048), "role_contraction");
    EXPECT_EQ(family(1024, 768, 3072), "role_contraction");
    EXPECT_EQ(family(128, 3072, 768), "tensor_contraction");
    EXPECT_EQ(family(128, 768, 768), "tensor_contraction");
    EXPECT_EQ(family(2048, 2048, 2048, "f32"), "warpgroup_contraction");
    EXPECT_EQ(family(4096, 768, 3072, "f32"), "warpgroup_contraction");
  }
}

}  // namespace
}  // namespace mlc::costmodel
