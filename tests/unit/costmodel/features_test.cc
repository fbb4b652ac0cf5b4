#include "costmodel/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/rng.h"
#include "tests/golden/workloads.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::costmodel {
namespace {

TEST(FeaturesTest, TheDocumentIsTheTable) {
  std::ifstream in(MLC_SOURCE_DIR "/costmodel/features.md");
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(document, FeatureTable());
}

TEST(FeaturesTest, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Feature& feature : Features()) EXPECT_TRUE(names.insert(feature.name).second);
}

TEST(FeaturesTest, DescribeAProblem) {
  const Problem problem = DescribeProblem(MakeConv(32, 14, 48, 3));
  EXPECT_EQ(problem.taps, 9);
  EXPECT_EQ(problem.columns, 48);
}

// Features of 100 random configs of each family that has a kernel.
void ExpectFinite(const graph::Workload& workload, const target::Target& target, Rng& rng,
                  std::set<std::string>& described) {
  const Problem problem = DescribeProblem(workload);
  std::vector<float> row(Features().size());
  for (const schedule::Family* family : schedule::FamiliesFor(workload, target)) {
    const schedule::Space space = family->MakeSpace(workload, target);
    for (int draw = 0; draw < 100; ++draw) {
      const schedule::Config config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
      const schedule::KernelFacts facts = family->Facts(workload, target, config);
      const Estimate estimate = EstimateKernel(facts, target);
      ComputeFeatures({problem, facts, estimate, config, target}, row);
      described.insert(space.family);
      for (size_t i = 0; i < row.size(); ++i) {
        EXPECT_TRUE(std::isfinite(row[i])) << Features()[i].name << " " << config.ToText();
      }
    }
  }
}

TEST(FeaturesTest, AreFiniteForEveryFamily) {
  Rng rng(1);
  std::set<std::string> described;
  for (const golden::NamedWorkload& kind : golden::AllKinds()) {
    SCOPED_TRACE(kind.name);
    for (const target::Target& target : {golden::Avx512Vnni(), golden::Avx2(), golden::Hopper()}) {
      ExpectFinite(kind.workload, target, rng, described);
    }
  }
  EXPECT_GT(described.size(), 15U);
}

// A knob without a slot would vanish from what the models see.
TEST(FeaturesTest, AKnobBeyondTheSlotsIsABug) {
  const target::Target target;
  const Problem problem = DescribeProblem(MakeConv(32, 14, 48, 3));
  schedule::Config config{"contraction", 1, {}};
  for (size_t i = 0; i < kKnobSlots; ++i) config.knobs.emplace_back("k" + std::to_string(i), 3);
  std::vector<float> row(Features().size());
  ComputeFeatures({problem, {}, {}, config, target}, row);
  EXPECT_EQ(Features().back().name, "knob15");
  EXPECT_EQ(row.back(), 2);  // log2(1 + 3)
  config.knobs.emplace_back("one_more", 3);
  EXPECT_DEATH(ComputeFeatures({problem, {}, {}, config, target}, row),
               "contraction has more knobs than features.cc has slots");
}

// Saved models are trained with these values.
TEST(FeaturesTest, UnitsOfAGpuAreTheGpusOrConstants) {
  const target::Target gpu = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  const Problem problem = DescribeProblem(MakeConv(32, 14, 48, 3));
  schedule::KernelFacts facts;
  facts.accumulators = 8;
  facts.parallel_chunks = 4;
  facts.blocks = 264;
  facts.block_bytes = 58112;
  facts.l1_set_bytes = 65535;
  std::vector<float> row(Features().size());
  ComputeFeatures({problem, facts, EstimateKernel(facts, gpu), {}, gpu}, row);
  const auto value = [&](std::string_view name) {
    return row[static_cast<size_t>(std::ranges::find(Features(), name, &Feature::name) -
                                   Features().begin())];
  };
  EXPECT_EQ(value("register_share"), 0.5F);
  EXPECT_EQ(value("l1_set"), 1);
  EXPECT_EQ(value("chunks"), 2);
  EXPECT_EQ(value("blocks"), 1);
  EXPECT_EQ(value("shared_memory"), 0.25F);
}

TEST(ProblemTest, DistanceIsZeroForEqualsAndInfiniteForOthers) {
  const Problem a = DescribeProblem(MakeConv(32, 14, 48, 3));
  const Problem b = DescribeProblem(MakeConv(32, 14, 96, 3));
  const Problem more = DescribeProblem(MakeConv(32, 14, 48, 3, /*batch=*/4));
  EXPECT_EQ(Distance(a, a), 0);
  EXPECT_DOUBLE_EQ(Distance(a, b), 1);
  EXPECT_LT(Distance(a, more), Distance(a, b));
  EXPECT_TRUE(std::isinf(Distance(a, DescribeProblem(MakeConv(32, 14, 48, 1)))));
}

}  // namespace
}  // namespace mlc::costmodel
