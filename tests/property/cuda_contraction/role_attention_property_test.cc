// Random attention of warps with roles, interpreted, against the reference. Blocks go through
// several tiles of queries where the device has few multiprocessors.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.h"
#include "tests/property/cuda_contraction/cuda_case.h"
#include "tests/workloads/attention.h"

namespace mlc::schedule {
namespace {

target::Target SmallHopper() {
  return *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=2 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
      "tensor_gflops=800000 copy_gbps=4350");
}

void CheckConfig(CudaCase& c, const target::Target& target, const Config& config, double bound) {
  SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
  const double error = CudaError(c, target, config);
  EXPECT_GE(error, 0);
  EXPECT_LE(error, bound);
}

// Those whose text has `part`.
void CheckRandom(uint64_t seed, const target::Target& target, int workloads, int configs,
                 const std::string& part = "") {
  const Family& family = *FindFamily("role_attention");
  Rng rng(seed);
  for (int i = 0; i < workloads && !::testing::Test::HasFailure(); ++i) {
    RandomWorkload random = RandomRoleAttention(rng);
    while (random.text.find(part) == std::string::npos) random = RandomRoleAttention(rng);
    auto workload = graph::Workload::Parse(random.text);
    ASSERT_TRUE(workload.ok()) << workload.status().ToString() << random.text;
    ASSERT_TRUE(family.Accepts(*workload, target)) << random.text;
    const double bound = random.text.find("bf16") == std::string::npos ? 3e-3 : 2e-2;
    CudaCase c = MakeCudaCase(rng, *std::move(workload));
    const Config usual = family.Default(c.workload, target);
    ASSERT_EQ(family.Check(c.workload, target, usual), RejectReason::kNone) << usual.ToText();
    CheckConfig(c, target, usual, bound);
    const Space space = family.MakeSpace(c.workload, target);
    const auto points = static_cast<uint64_t>(space.NumPoints());
    int legal = 0;
    for (int n = 0; n < 50 && legal < configs && !::testing::Test::HasFailure(); ++n) {
      const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
      if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
      ++legal;
      const KernelFacts facts = family.Facts(c.workload, target, config);
      EXPECT_GE(facts.blocks, 1);
      EXPECT_GE(facts.imbalance, 1 - 1e-9);
      CheckConfig(c, target, config, bound);
    }
  }
}

TEST(RoleAttentionProperty, RandomLayoutsLengthsAndConfigs) {
  CheckRandom(41, HopperTarget(), 10, 2);
}

TEST(RoleAttentionProperty, BlocksGoThroughSeveralTiles) { CheckRandom(42, SmallHopper(), 10, 2); }

TEST(RoleAttentionProperty, MasksOfNumbersAreAdded) {
  CheckRandom(43, SmallHopper(), 12, 2, "= select(");
}

// What the family leaves to others, one change each of a workload that it takes.
TEST(RoleAttentionProperty, RefusesWhatItDoesNotCover) {
  const Family& family = *FindFamily("role_attention");
  const auto accepts = [&](const std::string& q, const std::string& k, const std::string& scale,
                           const std::string& mask = "") {
    const std::string result = mask.empty() ? "%3" : "%4";
    const auto workload = graph::Workload::Parse(
        "workload v1 tolerance=1e-2 {\n%0 = input() : " + q + "\n%1 = input() : " + k +
        "\n%2 = input() : " + k + "\n" + (mask.empty() ? "" : "%3 = " + mask + "\n") + result +
        " = attention(%0, %1, %2" + (mask.empty() ? "" : ", %3") + ") {scale=" + scale +
        "} : " + q + "\nreturn " + result + "\n}\n");
    EXPECT_TRUE(workload.ok()) << workload.status().ToString();
    return workload.ok() && family.Accepts(*workload, HopperTarget());
  };
  EXPECT_TRUE(accepts("f16[1,2,128,64]", "f16[1,2,256,64]", "0.125"));
  EXPECT_FALSE(accepts("f16[1,2,128,64]", "f16[1,2,256,64]", "-0.125"));
  EXPECT_FALSE(accepts("f16[1,2,128,96]", "f16[1,2,256,96]", "0.125"));
  EXPECT_FALSE(accepts("f32[1,2,128,64]", "f32[1,2,256,64]", "0.125"));
  EXPECT_FALSE(accepts("f16[1,2,16,64]", "f16[1,2,256,64]", "0.125"));
  EXPECT_FALSE(accepts("f16[1,2,128,64]", "f16[1,2,32,64]", "0.125"));
  EXPECT_FALSE(accepts("f16[1,2,128,64]", "f16[1,2,256,64]{32768,16384,1,256}", "0.125"));
  EXPECT_FALSE(accepts("f16[1,2,128,64]", "f16[1,2,256,64]{33280,16640,65,1}", "0.125"));
  EXPECT_TRUE(accepts("f16[1,2,128,64]", "f16[1,2,256,64]", "0.125", "input() : f16[128,256]"));
}

// As of a step of a decoder, whose rows without any key are zeros: gpu_attention reads the number
// before the keys. Drawn ones are true.
TEST(GpuAttentionProperty, ResultsDependOnOneNumber) {
  auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-2 {\n  %0 = input() : bool[1,1,1,1]\n"
      "  %1 = constant() {value=0.0} : bf16[]\n  %2 = input() : bf16[1,2,4,64]\n"
      "  %3 = input() : bf16[1,2,256,64]\n  %4 = input() : bf16[1,2,256,64]\n"
      "  %5 = attention(%2, %3, %4) {scale=0.125} : bf16[1,2,4,64]\n"
      "  %6 = select(%0, %5, %1) : bf16[1,2,4,64]\n  return %6\n}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  Rng rng(1);
  CudaCase c = MakeCudaCase(rng, *std::move(workload));
  const target::Target target = HopperTarget();
  std::vector<std::vector<std::byte>> outputs;
  const Config config = FindFamily("gpu_attention")->Default(c.workload, target);
  const double error = CudaError(c, target, config, &outputs);
  EXPECT_GE(error, 0);
  EXPECT_LE(error, 2e-2);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_TRUE(std::any_of(outputs[0].begin(), outputs[0].end(),
                          [](std::byte byte) { return byte != std::byte{0}; }));
}

}  // namespace
}  // namespace mlc::schedule
