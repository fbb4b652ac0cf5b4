#include "client/tune/replay_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/package/origin.h"
#include "compiler/target/target.h"

namespace mlc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

package::Choice Chosen(package::Origin origin, double ns) {
  package::Choice choice;
  choice.config.family = "contraction";
  choice.config.version = 3;
  choice.config.knobs = {{"mr", 14}};
  choice.origin = std::move(origin);
  choice.expected_ns = ns;
  return choice;
}

ReplayReport TwoTasks(package::Origin second, double second_ns) {
  ReplayReport report;
  report.model.tasks = {{"k0", "conv 3x3", "conv1", {3}, 2e6, 1e4},
                        {"k1", "add 4", "sum", {2}, 1e3, 1e4}};
  report.target = target::Target().ClassText();
  report.choices = {Chosen(package::FromRecord{"abc"}, 2e6), Chosen(std::move(second), second_ns)};
  report.default_ns = {4e6, 0};
  report.search.job = DigestOf("job");
  report.search.is_known = true;
  report.search.wanted = report.search.answered = 12;
  report.search.outcomes[0] = 12;
  return report;
}

TuneOptions Options() {
  TuneOptions options;
  options.model = "m.onnx";
  options.log = "lab.db";
  options.replay_only = true;
  return options;
}

TEST(ReplayReportTest, AWholeLogSaysSoAndHowToCompile) {
  const ReplayReport report = TwoTasks(package::FromRecord{"def"}, 1e3);
  EXPECT_TRUE(report.Missing().empty());
  const std::string text = ReplayText(Options(), report);
  EXPECT_THAT(text, HasSubstr("conv 3x3"));
  EXPECT_THAT(text, HasSubstr("12 trials, all from the log, nothing was measured"));
  EXPECT_THAT(text, HasSubstr("Search: the log has 12 of 12 trials of job " +
                              report.search.job.ToText() + ".\n"));
  EXPECT_THAT(text, HasSubstr("Every task has a record.\n"));
  EXPECT_THAT(text, HasSubstr("mlc-compile --model m.onnx --log lab.db -o m-lib\n"));
}

TEST(ReplayReportTest, NamesWhatIsMissingAndWhatABuildTakesInstead) {
  ReplayReport report = TwoTasks(package::FromSimilar{"def"}, 1500);
  EXPECT_THAT(report.Missing(), ElementsAre(1u));
  report.search.answered = 7;
  report.search.unknown = 16;
  std::string text = ReplayText(Options(), report);
  EXPECT_THAT(text, HasSubstr("1 task without a record:\n  add 4 (a transferred config, about "
                              "1.50 us)\nTune them with:\n  mlc-tune --model m.onnx --trials 64"));
  EXPECT_THAT(text, HasSubstr("7 of 12 trials"));
  EXPECT_THAT(text, HasSubstr("no record of 16 that it proposes"));
  EXPECT_THAT(text, Not(HasSubstr("--replay-only")));
  report = TwoTasks(package::FromDefault(), 0);
  report.search = {};
  text = ReplayText(Options(), report);
  EXPECT_THAT(text, HasSubstr("  add 4 (the default config)\n"));
  EXPECT_THAT(text, HasSubstr("The log has no trial of this job"));
}

TEST(ReplayReportTest, ATaskOfAnotherVariantIsNotMissing) {
  ReplayReport report = TwoTasks(package::FromDefault(), 0);
  report.model.variants = {"fused", "sums apart"};
  report.model.tasks[0].uses = {3, 3};
  report.model.tasks[1].uses = {0, 2};
  EXPECT_TRUE(report.Missing().empty());
}

TEST(ReplayReportTest, JsonIsTheResultOfAJob) {
  const auto json =
      nlohmann::json::parse(ReplayJson(Options(), TwoTasks(package::FromDefault(), 0)));
  EXPECT_EQ(json["schema"], "mlc.tune/1");
  EXPECT_EQ(json["event"], "result");
  EXPECT_EQ(json["state"], "done");
  EXPECT_EQ(json["tasks"][0]["origin"], "abc");
  EXPECT_EQ(json["tasks"][0]["best_ns"], 2e6);
  EXPECT_EQ(json["tasks"][0]["config"], "contraction/3 mr=14");
  EXPECT_EQ(json["tasks"][1]["origin"], "default");
  EXPECT_EQ(json["replay"]["known"], true);
  EXPECT_EQ(json["replay"]["answered"], 12);
  EXPECT_EQ(json["replay"]["unknown"], 0);
  ASSERT_EQ(json["replay"]["missing"].size(), 1u);
  EXPECT_EQ(json["replay"]["missing"][0]["workload"], "k1");
}

}  // namespace
}  // namespace mlc::client
