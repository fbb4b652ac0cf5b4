#include "costmodel/transfer.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "costmodel/default_config.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::costmodel {
namespace {

using schedule::Config;

class TransferTest : public ::testing::Test {
 protected:
  TransferTest() {
    target_.cpu().isa = target::Isa::kAvx512;
    target_.cpu().threads = 2;
  }

  Config Default(const graph::Workload& workload) const {
    return *DefaultConfig(workload, target_);
  }
  std::vector<Config> Legal(const graph::Workload& workload, size_t count) const {
    const schedule::Family* family = schedule::FamiliesFor(workload, target_)[0];
    const schedule::Space space = family->MakeSpace(workload, target_);
    std::vector<Config> configs;
    for (Rng rng(1); configs.size() < count;) {
      const Config config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      const auto reason = family->Check(workload, target_, config);
      if (reason == schedule::RejectReason::kNone && config != Default(workload)) {
        configs.push_back(config);
      }
    }
    return configs;
  }
  PriorConfig BestOf(const graph::Workload& workload,
                     const std::vector<SimilarWorkload>& similar_workloads) const {
    std::vector<const SimilarWorkload*> nearest;
    for (const SimilarWorkload& similar : similar_workloads) nearest.push_back(&similar);
    return PriorConfigsFor(workload, target_, nearest)->front();
  }

  target::Target target_;
  graph::Workload one_ = MakeConv(64, 28, 128, 3), four_ = MakeConv(64, 28, 128, 3, 4);
};

TEST_F(TransferTest, WithoutASimilarWorkloadItIsTheDefault) {
  const PriorConfig prior = BestOf(four_, {});
  EXPECT_EQ(prior.config, Default(four_));
  EXPECT_EQ(prior.similar, -1);
  EXPECT_GT(prior.expected_ns, 0);
}

TEST_F(TransferTest, AMuchFasterConfigOfAnotherBatchIsCarriedOver) {
  const Config fast = Legal(one_, 1)[0];
  const PriorConfig prior =
      BestOf(four_, {{one_, {{fast, 2000}, {Default(one_), 40'000}}, 40'000}});
  EXPECT_EQ(prior.config, *TransferConfig(fast, four_, target_));
  EXPECT_EQ(prior.similar, 0);
  EXPECT_EQ(prior.place, 0u);
  EXPECT_GT(prior.expected_ns, 2000) << "four times the work";
  EXPECT_LT(prior.expected_ns, 40'000);
}

TEST_F(TransferTest, WhereTheDefaultWonItWinsAndTheTimeIsScaled) {
  const Config slow = Legal(one_, 1)[0];
  const PriorConfig prior = BestOf(four_, {{one_, {{Default(one_), 1000}, {slow, 50'000}}, 1000}});
  EXPECT_EQ(prior.config, Default(four_));
  EXPECT_EQ(prior.similar, -1);
  EXPECT_GT(prior.expected_ns, 2000);
  EXPECT_LT(prior.expected_ns, 8000);
}

TEST_F(TransferTest, TheCalibrationOfATargetChangesNoPriorConfig) {
  const std::vector<Config> configs = Legal(one_, 3);
  const std::vector<SimilarWorkload> similar_workloads = {
      {one_, {{configs[0], 900}, {configs[1], 950}, {configs[2], 980}}, 1000}};
  const PriorConfig prior = BestOf(four_, similar_workloads);
  target_.fma_gflops = 400;
  target_.copy_gbps = 20;
  EXPECT_EQ(BestOf(four_, similar_workloads).config, prior.config);
  EXPECT_EQ(BestOf(four_, similar_workloads).expected_ns, prior.expected_ns);
}

TEST_F(TransferTest, WhatIsCarriedOverIsLegal) {
  int transferred = 0;
  for (const graph::Workload& other : {four_, MakeConv(128, 14, 256, 3), MakeConv(64, 7, 32, 3)}) {
    const schedule::Family* family = schedule::FamiliesFor(other, target_)[0];
    for (const Config& config : Legal(one_, 40)) {
      const auto here = TransferConfig(config, other, target_);
      if (!here) continue;
      ++transferred;
      EXPECT_EQ(family->Check(other, target_, *here), schedule::RejectReason::kNone);
      EXPECT_GE(family->MakeSpace(other, target_).RankOf(*here), 0);
    }
  }
  EXPECT_GT(transferred, 60);
}

TEST_F(TransferTest, WhatThisBuildDoesNotKnowIsPassedOver) {
  std::vector<Timed> foreign;
  for (const char* text : {"nowhere/1 a=1", "contraction/99 mr=1", "contraction/1 mr=1"}) {
    EXPECT_FALSE(TransferConfig(*Config::Parse(text), four_, target_).has_value()) << text;
    foreign.push_back({*Config::Parse(text), 1});
  }
  EXPECT_EQ(BestOf(four_, {{one_, foreign, 1000}}).config, Default(four_));
  EXPECT_EQ(BestOf(four_, {{one_, {}, 0}}).config, Default(four_));
}

TEST_F(TransferTest, TheNearestProblemsComeFirstAndOtherKindsNever) {
  const Problem here = DescribeProblem(four_);
  Problem half = here;
  half.dtype = DType::kF16;
  const std::vector<Problem> others = {
      DescribeProblem(MakeConv(64, 28, 64, 3)), half, DescribeProblem(MakeConv(64, 28, 128, 1)),
      DescribeProblem(MakeConv(64, 28, 128, 3, 3)), DescribeProblem(MakeConv(4, 4, 4, 3))};
  EXPECT_EQ(NearestProblems(here, others), (std::vector<size_t>{3, 0}));
}

}  // namespace
}  // namespace mlc::costmodel
