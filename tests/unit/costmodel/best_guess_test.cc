#include "costmodel/best_guess.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mlc::costmodel
