#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/problem/contraction_space.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {
namespace {

using ::testing::HasSubstr;

target::Target Avx512(int threads) {
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512;
  target.cpu().threads = threads;
  return target;
}

graph::Workload Parsed(std::string_view text) {
  auto workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString();
  return *std::move(workload);
}

// A channels-last convolution of 64 to 64 channels on 56x56.
graph::Workload Conv(int kernel, std::string_view tolerance) {
  const std::string k = std::to_string(kernel);
  const std::string pad = std::to_string(kernel / 2);
  return Parsed("workload v1 tolerance=" + std::string(tolerance) +
                " {\n"
                "  %0 = input() : f32[1,64,56,56]{200704,1,3584,64}\n"
                "  %1 = weight() : f32[64,64," +
                k + "," + k +
                "]\n"
                "  %2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[" +
                pad + "," + pad + "," + pad + "," + pad +
                "], strides=[1,1]} : f32[1,64,56,56]{200704,1,3584,64}\n"
                "  return %2\n}\n");
}

TEST(ContractionSegments, TapsOutsideTheInputAreLeftOut) {
  RowAxis axis{3, 56, 56, 3, 1, 1, 1, 64, 1};
  const auto segments = MakeSegments(axis, 14);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].runs, (std::vector<TapRun>{{0, 1, 1, 14}, {1, 3, 0, 14}}));
  EXPECT_EQ(segments[1].begin, 1);
  EXPECT_EQ(segments[1].end, 3);
  EXPECT_EQ(segments[1].runs, (std::vector<TapRun>{{0, 3, 0, 14}}));
  EXPECT_EQ(segments[2].runs, (std::vector<TapRun>{{0, 2, 0, 14}, {2, 3, 0, 13}}));
}

TEST(ContractionSegments, TilesDifferByAtMostOneRow) {
  RowAxis axis;
  axis.out = axis.in = 49;
  const auto segments = MakeSegments(axis, 14);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].rows, 13);
  EXPECT_EQ(segments[1].rows, 12);
  EXPECT_EQ(segments[1].begin * segments[1].rows + segments[1].origin, 13);
  EXPECT_EQ(segments[1].end, 4);
}

TEST(ContractionProblem, PointwiseConvolutionFlattensItsImage) {
  const auto flat = FindContraction(Conv(1, "1e-04"));
  ASSERT_TRUE(flat);
  EXPECT_TRUE(flat->flattened);
  EXPECT_EQ(flat->inner.out, 56 * 56);
  const auto padded = FindContraction(Conv(3, "1e-04"));
  ASSERT_TRUE(padded);
  EXPECT_FALSE(padded->flattened);
  EXPECT_EQ(padded->K(), 9 * 64);
  EXPECT_DOUBLE_EQ(padded->Flops(), 2.0 * 56 * 56 * 64 * 64 * 9);
}

TEST(WinogradFamily, ToleranceAdmitsTheAlgorithm) {
  const Family* family = FindFamily("winograd");
  ASSERT_NE(family, nullptr);
  const target::Target target = Avx512(1);
  EXPECT_TRUE(family->Accepts(Conv(3, "1e-04"), target));
  EXPECT_FALSE(family->Accepts(Conv(3, "1e-06"), target));
  EXPECT_FALSE(family->Accepts(Conv(1, "1e-04"), target));
  Config config = family->Default(Conv(3, "1e-04"), target);
  SetKnob(config, "m", 4);
  EXPECT_EQ(family->Check(Conv(3, "1e-05"), target, config), RejectReason::kTolerance);
}

TEST(ContractionFamily, RejectsWithReasons) {
  const Family* family = FindFamily("contraction");
  const graph::Workload workload = Conv(3, "1e-04");
  const Config good = family->Default(workload, Avx512(1));
  Config config = good;
  SetKnob(config, "mr", 14);
  SetKnob(config, "nr", 4);
  EXPECT_EQ(family->Check(workload, Avx512(1), config), RejectReason::kRegisters);
  config = good;
  SetKnob(config, "mr", 1);
  SetKnob(config, "nr", 1);
  EXPECT_EQ(family->Check(workload, Avx512(1), config), RejectReason::kTooFewChains);
  config = good;
  SetKnob(config, "row_chunks", 1);
  SetKnob(config, "col_chunks", 1);
  EXPECT_EQ(family->Check(workload, Avx512(2), config), RejectReason::kParallelism);
}

TEST(ContractionFamily, OpensWorkloadsOfItsKindOnce) {
  const Family* family = FindFamily("contraction");
  const graph::Workload workload = Conv(3, "1e-04");
  const target::Target target = Avx512(1);
  const std::unique_ptr<const Problem> problem = family->Open(workload, target);
  ASSERT_NE(problem, nullptr);
  const Config config = problem->Default();
  EXPECT_EQ(config, family->Default(workload, target));
  EXPECT_GE(problem->MakeSpace().RankOf(config), 0);
  EXPECT_EQ(problem->Check(config), RejectReason::kNone);
  EXPECT_EQ(problem->Facts(config).flops, family->Facts(workload, target, config).flops);
  // Another family's kind of problem.
  EXPECT_EQ(FindFamily("attention")->Open(workload, target), nullptr);
  EXPECT_EQ(FindFamily("attention")->Check(workload, target, config), RejectReason::kUnsupported);
}

TEST(ContractionFamily, FactsCountSkippedTaps) {
  const Family* family = FindFamily("contraction");
  const graph::Workload workload = Conv(3, "1e-04");
  const Config config = family->Default(workload, Avx512(1));
  const KernelFacts facts = family->Facts(workload, Avx512(1), config);
  EXPECT_DOUBLE_EQ(facts.useful_flops, 2.0 * 56 * 56 * 64 * 64 * 9);
  const double inside = (3.0 * 56 - 2) / (3.0 * 56);
  EXPECT_NEAR(facts.flops / facts.useful_flops, inside * inside, 1e-9);
}

TEST(LowerConfig, ErrorsNameTheCause) {
  const graph::Workload workload = Conv(1, "1e-04");
  Config config = FindFamily("contraction")->Default(workload, Avx512(1));
  config.family = "nothing";
  auto lowered = LowerConfig(workload, Avx512(1), config);
  EXPECT_EQ(lowered.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(lowered.status().message(), HasSubstr("no kernel family 'nothing'"));
  config.family = "contraction";
  config.version = 99;
  lowered = LowerConfig(workload, Avx512(1), config);
  EXPECT_EQ(lowered.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(lowered.status().message(), HasSubstr("version 99"));
  config.version = FindFamily("contraction")->version();
  SetKnob(config, "mr", 1000);
  lowered = LowerConfig(workload, Avx512(1), config);
  EXPECT_EQ(lowered.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(lowered.status().message(), HasSubstr("not in the space"));
}

}  // namespace
}  // namespace mlc::schedule
