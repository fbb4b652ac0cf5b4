#include "costmodel/best_guess.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/schedule/family.h"
#include "costmodel/analytic.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::costmodel {
namespace {

TEST(BestGuessTest, IsLegalDeterministicAndNoWorseThanTheDefault) {
  target::Target target;
  target.isa = target::Isa::kAvx512;
  target.threads = 2;
  for (const graph::Workload& workload :
       {MakeConv(64, 56, 64, 3), MakeConv(256, 14, 512, 1), MakeConv(3, 32, 8, 3)}) {
    const auto guess = BestGuess(workload, target);
    ASSERT_TRUE(guess.ok()) << guess.status().ToString();
    EXPECT_EQ(*guess, *BestGuess(workload, target));
    const schedule::Family* family = schedule::FindFamily(guess->family);
    EXPECT_EQ(family->Check(workload, target, *guess), schedule::RejectReason::kNone);
    const schedule::Family* first = schedule::FamiliesFor(workload, target)[0];
    const auto estimate = [&](const schedule::Family& f, const schedule::Config& config) {
      return EstimateKernel(f.Facts(workload, target, config), target).total_ns;
    };
    EXPECT_LE(estimate(*family, *guess), estimate(*first, first->Default(workload, target)));
  }
}

graph::Workload NarrowProduct(int m, int k, int n) {
  const auto type = [](int rows, int columns) {
    return "f16[" + std::to_string(rows) + "," + std::to_string(columns) + "]\n";
  };
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-2 {\n%0 = input() : " + type(m, k) +
      "%1 = weight() : " + type(k, n) + "%2 = matmul(%0, %1) : " + type(m, n) + "return %2\n}\n");
  EXPECT_TRUE(workload.ok()) << workload.status().ToString();
  return *workload;
}

// Hopper's matrix instructions are worth their large tiles where there is enough to multiply.
TEST(BestGuessTest, WarpgroupsMultiplyWhatIsLarge) {
  const auto hopper = target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=66908 "
      "tensor_gflops=1070530 copy_gbps=4150");
  ASSERT_TRUE(hopper.ok());
  EXPECT_EQ(BestGuess(NarrowProduct(4096, 4096, 4096), *hopper)->family, "warpgroup_contraction");
  EXPECT_EQ(BestGuess(NarrowProduct(2048, 2048, 2048), *hopper)->family, "warpgroup_contraction");
  EXPECT_EQ(BestGuess(NarrowProduct(128, 3072, 768), *hopper)->family, "tensor_contraction");
  EXPECT_EQ(BestGuess(NarrowProduct(128, 768, 768), *hopper)->family, "tensor_contraction");
}

}  // namespace
}  // namespace mlc::costmodel
