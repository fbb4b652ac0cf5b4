#include "server/state/job_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/progress/progress_view.h"
#include "client/progress/tune_report.h"
#include "server/state/state_json.h"

namespace mlc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A product merged (task 0, once) or apart (task 1, three times), beside a task of both.
class JobFiguresTest : public ::testing::Test {
 protected:
  JobFiguresTest() {
    model_.variants = {"fused", "products apart"};
    model_.tasks = {{"k0", "merged", "", {1, 0}, 0, 0, false},
                    {"k1", "single", "", {0, 3}, 0, 0, false},
                    {"k2", "shared", "", {2, 2}, 0, 0, false}};
  }

  static proto::JobProgress Timed(std::vector<double> best_ns) {
    proto::JobProgress progress;
    for (const double ns : best_ns) {
      proto::TaskProgress& task = *progress.add_tasks();
      task.set_best_ns(ns);
      task.set_estimate_ns(1e6);
      task.set_default_ns(2 * ns);
      task.set_trials(ns > 0 ? 4 : 0);
    }
    return progress;
  }

  server::ModelInfo model_;
};

TEST_F(JobFiguresTest, TheRooflineOfAGpuIsThatOfItsTensorCores) {
  model_.tasks = {{"k0", "narrow", "", {1, 1}, 1e9, 1e6, true},
                  {"k1", "wide", "", {1, 1}, 1e9, 1e6, false},
                  {"k2", "copy", "", {1, 1}, 0, 100e6, false}};
  proto::JobProgress progress = Timed({1e6, 1e6, 1e6});
  progress.set_target(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=50000.0 "
      "tensor_gflops=1000000.0 copy_gbps=4000.0");
  const server::JobFigures figures = server::FiguresOf(model_, progress);
  EXPECT_DOUBLE_EQ(figures.tasks[0].roofline_ns, 1000);
  EXPECT_DOUBLE_EQ(figures.tasks[1].roofline_ns, 2000);
  EXPECT_DOUBLE_EQ(figures.tasks[2].roofline_ns, 25000);
}

TEST_F(JobFiguresTest, TheModelIsItsFastestVariant) {
  const proto::JobProgress merged = Timed({10e6, 4e6, 1e6});
  server::JobFigures figures = server::FiguresOf(model_, merged);
  EXPECT_EQ(figures.fastest, 0u);
  EXPECT_EQ(figures.model().model_ns, 12e6);
  EXPECT_EQ(figures.variants[1].model_ns, 14e6);
  EXPECT_EQ(figures.tasks[1].uses, 0);
  EXPECT_EQ(figures.tasks[1].share, 0);
  EXPECT_THAT(FinalTable(model_, merged),
              HasSubstr("\nfastest variant: fused, 12.0 ms; products apart 14.0 ms (+16.7 %)\n"));

  const proto::JobProgress apart = Timed({10e6, 2e6, 1e6});
  figures = server::FiguresOf(model_, apart);
  EXPECT_EQ(figures.fastest, 1u);
  EXPECT_EQ(figures.model().model_ns, 8e6);
  EXPECT_EQ(figures.tasks[1].uses, 3);
  EXPECT_DOUBLE_EQ(figures.tasks[1].share, 0.75);
  EXPECT_EQ(figures.default_model_ns, 24e6) << "of the usual variant: that is built without a log";
  EXPECT_THAT(ProgressLine(model_, apart), HasSubstr("model 8.00 ms (3.00x)"));
}

TEST_F(JobFiguresTest, AsABuildChooses) {
  // The other one has to be measured whole.
  const proto::JobProgress half = Timed({10e6, 0, 1e6});
  EXPECT_EQ(server::FiguresOf(model_, half).fastest, 0u);
  EXPECT_THAT(FinalTable(model_, half),
              HasSubstr("fused, 12.0 ms; products apart: 1 of 2 tasks not measured"));
  EXPECT_EQ(server::FiguresOf(model_, Timed({0, 9e6, 1e6})).fastest, 1u);
  EXPECT_EQ(server::FiguresOf(model_, Timed({6e6, 2e6, 1e6})).fastest, 0u)
      << "as fast is not faster";
  const server::JobFigures none = server::FiguresOf(model_, Timed({0, 0, 0}));
  EXPECT_EQ(none.fastest, 0u);
  EXPECT_EQ(none.model().untried, none.model().tasks);
  EXPECT_EQ(none.model().model_ns, 3e6) << "what is to be expected";
}

TEST_F(JobFiguresTest, JsonTellsOfEveryVariant) {
  const auto json =
      nlohmann::json::parse(ResultJson(TuneOptions(), "ab", model_, Timed({10e6, 2e6, 1e6})));
  EXPECT_EQ(json["variant"], "products apart");
  EXPECT_EQ(json["model_ms"], 8);
  ASSERT_EQ(json["variants"].size(), 2u);
  EXPECT_EQ(json["variants"][0]["name"], "fused");
  EXPECT_EQ(json["variants"][0]["model_ms"], 12);
  EXPECT_EQ(json["variants"][0]["measured_share"], 1);
  EXPECT_EQ(json["variants"][0]["tasks_without_kernel"], 0);
  EXPECT_EQ(json["tasks"][1]["occurrences"], 3);
  EXPECT_THAT(json["tasks"][1]["uses"].get<std::vector<int>>(), ElementsAre(0, 3));
  EXPECT_EQ(nlohmann::json::parse(server::ProgressJson(model_, Timed({1, 1, 1})))["variant"],
            "fused");
}

TEST_F(JobFiguresTest, AModelInOneVariantHasNoWordsForIt) {
  model_.variants = {"fused"};
  model_.tasks = {{"k0", "conv", "", {2}, 0, 0}};
  const proto::JobProgress progress = Timed({10e6});
  EXPECT_THAT(FinalTable(model_, progress), Not(HasSubstr("variant")));
  const auto json = nlohmann::json::parse(ResultJson(TuneOptions(), "ab", model_, progress));
  EXPECT_FALSE(json.contains("variants"));
  EXPECT_FALSE(json["tasks"][0].contains("uses"));
}

}  // namespace
}  // namespace mlc::client
