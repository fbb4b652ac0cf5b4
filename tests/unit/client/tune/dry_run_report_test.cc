#include "client/tune/dry_run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/model/tuning_time.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DryRunResult Tunable() {
  DryRunResult result;
  result.model = "m.onnx";
  result.target = "cpu avx512";
  result.survey.opset = 18;
  result.survey.operators = {{"Add", 2}, {"Conv", 7}};
  result.tasks.variants = {"fused", "sums apart"};
  result.tasks.tasks = {{"k0", "conv 3x3", "conv1", {3, 3}, 2e6, 1e4},
                        {"k1", "add 4", "sum", {0, 2}, 1e3, 1e4}};
  result.trials = 128;
  result.trials_are_usual = true;
  result.seconds = 65;
  return result;
}

TEST(DryRunReportTest, ListsOperatorsTasksAndTheTime) {
  EXPECT_EQ(DryRunText(Tunable()),
            "m.onnx: operator set 18, for cpu avx512\n"
            "operators:\n"
            "  Conv 7, Add 2\n"
            "2 tasks, 3 executions:\n"
            "  use  task\n"
            "    3x  conv 3x3\n"
            "    0x  add 4  (only in another variant)\n"
            "128 trials (usual for so many tasks) take about 1:05, within a factor of two on a "
            "quiet machine.\n"
            "The model can be tuned.\n");
  DryRunResult asked = Tunable();
  asked.trials_are_usual = false;
  EXPECT_THAT(DryRunText(asked), HasSubstr("128 trials take about"));
}

TEST(DryRunReportTest, NamesEveryObstacleWithItsSupportedForm) {
  DryRunResult result = Tunable();
  result.tasks = {};
  result.survey.obstacles = {
      {graph::onnx::ObstacleKind::kOperator,
       "my:Odd",
       {"a", "b", "c", "d", "e"},
       17,
       "the operator is not supported",
       "something else"},
      {graph::onnx::ObstacleKind::kNode, "Cast", {"f"}, 1, "to int4 is not supported", ""}};
  result.survey.unchecked = 1;
  EXPECT_FALSE(result.CanBeTuned());
  EXPECT_EQ(DryRunText(result),
            "m.onnx: operator set 18, for cpu avx512\n"
            "operators:\n"
            "  Conv 7, Add 2\n"
            "not supported, in 18 places:\n"
            "  my:Odd 'a', 'b', 'c', 'd' and others, 17 in all: the operator is not supported\n"
            "      supported: something else\n"
            "  Cast 'f': to int4 is not supported\n"
            "  1 node could not be checked, because what they read depends on the above\n"
            "The model cannot be tuned as it is.\n");
  const auto json = nlohmann::json::parse(DryRunJson(result));
  EXPECT_EQ(json["schema"], "mlc.dry-run/1");
  EXPECT_EQ(json["can_be_tuned"], false);
  EXPECT_EQ(json["obstacles"][0]["kind"], "operator");
  EXPECT_EQ(json["obstacles"][0]["names"].size(), 5u);
  EXPECT_EQ(json["obstacles"][1]["why"], "to int4 is not supported");
  EXPECT_EQ(json["unchecked_nodes"], 1);
}

TEST(DryRunReportTest, SaysWhatTheCompilerLeftAlone) {
  DryRunResult result = Tunable();
  result.tasks.notes = {"attention 'y' is not fused: its scores have other readers"};
  EXPECT_THAT(DryRunText(result),
              HasSubstr("note: attention 'y' is not fused: its scores have other readers\n128"));
  EXPECT_EQ(nlohmann::json::parse(DryRunJson(result))["notes"][0], result.tasks.notes[0]);
  EXPECT_TRUE(result.CanBeTuned());
}

TEST(DryRunReportTest, ATaskWithoutAFamilyCannotBeTuned) {
  DryRunResult result = Tunable();
  result.without_kernel = {"conv 3x3"};
  EXPECT_FALSE(result.CanBeTuned());
  EXPECT_THAT(DryRunText(result), HasSubstr("task conv 3x3: no family generates kernels for it"));
  EXPECT_THAT(DryRunText(result), Not(HasSubstr("can be tuned.")));
  EXPECT_EQ(nlohmann::json::parse(DryRunJson(Tunable()))["tasks"][1]["uses"],
            nlohmann::json::parse("[0, 2]"));
}

TEST(TuningTimeTest, GrowsWithTheWorkAndShrinksWithTheDevice) {
  target::Target cpu;
  cpu.cpu().isa = target::Isa::kAvx512;
  const double small = SecondsPerTrial({{1e5, 1e3}}, cpu, 2);
  const double large = SecondsPerTrial({{2e8, 1e6}}, cpu, 2);
  EXPECT_NEAR(small, 0.03, 0.01) << "most of it is not the kernel";
  EXPECT_GT(large, 2 * small);
  cpu.cpu().threads = 8;
  EXPECT_LT(SecondsPerTrial({{2e8, 1e6}}, cpu, 2), large);
  const Result<target::Target> gpu = target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=50000.0 "
      "tensor_gflops=1000000.0 copy_gbps=4000.0");
  ASSERT_TRUE(gpu.ok());
  EXPECT_LT(SecondsPerTrial({{2e8, 1e6}}, *gpu, 16), SecondsPerTrial({{2e8, 1e6}}, *gpu, 2));
}

}  // namespace
}  // namespace mlc::client
