#include "client/progress/progress_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/progress/tune_report.h"
#include "server/state/state_json.h"
#include "tests/unit/client/tune/half_done_job.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ProgressViewTest : public ::testing::Test {
 protected:
  ProgressViewTest() {
    model_.tasks = {{"k0", "conv 3x3", "conv1", {3}, 2e6, 1e4},
                    {"k1", "matmul", "fc", {1}, 1e6, 1e9}};
    progress_ = HalfDoneJob({40'000.0, 380'000'000.0});
    progress_.set_replayed(10);
    progress_.set_elapsed_s(20);
    for (int i = 0; i < 8; ++i) progress_.add_outcomes(0);
    progress_.set_outcomes(0, 46);
    progress_.set_outcomes(3, 3);
    progress_.set_outcomes(6, 1);
  }

  server::ModelInfo model_;
  proto::JobProgress progress_;
};

TEST_F(ProgressViewTest, Figures) {
  const server::JobFigures figures = server::FiguresOf(model_, progress_);
  EXPECT_DOUBLE_EQ(figures.model().model_ns, 3 * 40'000 + 380'000'000);
  EXPECT_DOUBLE_EQ(figures.default_model_ns, 2 * figures.model().model_ns);
  EXPECT_DOUBLE_EQ(figures.tasks[0].roofline_ns, 20'000) << "2e6 flops at 100 Gflop/s";
  EXPECT_DOUBLE_EQ(figures.tasks[1].roofline_ns, 1e8) << "1e9 bytes at 10 GB/s";
  EXPECT_DOUBLE_EQ(figures.trials_per_s, 2) << "replayed trials took no time";
  EXPECT_EQ(figures.failures, 3) << "a trial that stopped early is no failure";
}

TEST_F(ProgressViewTest, LineAndTable) {
  const std::string line = ProgressLine(model_, progress_, 25);
  EXPECT_THAT(line, HasSubstr("50/100 trials, 0:25 left, model 380 ms (2.00x), 2.0 trials/s, "));
  EXPECT_THAT(ProgressLine(model_, progress_), Not(HasSubstr(" left"))) << "unknown";
  EXPECT_THAT(line, HasSubstr("failed: 3 run_error"));
  EXPECT_THAT(line, Not(HasSubstr("GPU")));
  proto::JobProgress on_gpu = progress_;
  on_gpu.set_gpu_busy(0.614);
  EXPECT_THAT(ProgressLine(model_, on_gpu), HasSubstr("2.0 trials/s, GPU busy 61 %, failed"));
  EXPECT_THAT(FinalTable(model_, on_gpu), HasSubstr(", GPU busy 61 %, failed: "));
  EXPECT_THAT(server::ProgressJson(model_, on_gpu), HasSubstr("\"gpu_busy\":0.614,"));
  EXPECT_THAT(server::ProgressJson(model_, progress_), Not(HasSubstr("gpu_busy")));
  EXPECT_THAT(line, Not(HasSubstr("too_slow")));
  const std::string table = FinalTable(model_, progress_);
  EXPECT_LT(table.find("matmul"), table.find("conv 3x3")) << "the heaviest task first";
  EXPECT_THAT(table, HasSubstr("40.0 us  50%  2.00x"));
}

TEST_F(ProgressViewTest, AJobThatTheLogAnswersHasNoSpeed) {
  progress_.set_replayed(progress_.trials());
  progress_.set_elapsed_s(0.001);
  EXPECT_DOUBLE_EQ(server::FiguresOf(model_, progress_).trials_per_s, 0);
  EXPECT_THAT(ProgressLine(model_, progress_), HasSubstr("0.0 trials/s")) << "so far";
  progress_.set_state(proto::DONE);
  EXPECT_THAT(ProgressLine(model_, progress_),
              HasSubstr("model 380 ms (2.00x), all from the log, nothing was measured, failed:"));
  EXPECT_THAT(FinalTable(model_, progress_),
              HasSubstr("50 trials, all from the log, nothing was measured, failed:"));
  // A server may say anything.
  progress_.set_replayed(1'000'000);
  EXPECT_DOUBLE_EQ(server::FiguresOf(model_, progress_).trials_per_s, 0);
  progress_.set_replayed(progress_.trials() - 1);
  EXPECT_THAT(FinalTable(model_, progress_), HasSubstr("50 trials in 0:00 (49 from the log)"));
}

TEST_F(ProgressViewTest, ATaskWithoutAKernelHidesTheModelsTime) {
  progress_.mutable_tasks(0)->set_best_ns(0);
  EXPECT_THAT(ProgressLine(model_, progress_), HasSubstr("1 tasks without a kernel yet"));
}

// The model's time is that of the library that could be built now.
TEST_F(ProgressViewTest, ATaskWithoutAKernelCountsWithWhatIsToBeExpected) {
  proto::TaskProgress& untried = *progress_.mutable_tasks(1);
  untried.set_best_ns(0);
  untried.set_default_ns(0);
  untried.set_trials(0);
  untried.set_estimate_ns(1'880'000);
  const server::JobFigures figures = server::FiguresOf(model_, progress_);
  EXPECT_DOUBLE_EQ(figures.model().model_ns, 3 * 40'000 + 1'880'000);
  EXPECT_DOUBLE_EQ(figures.model().measured_share, 0.06);
  EXPECT_DOUBLE_EQ(figures.tasks[1].share, 0.94);
  EXPECT_EQ(figures.model().missing, 1);
  EXPECT_EQ(figures.model().untried, 1);
  EXPECT_EQ(figures.default_model_ns, 0) << "a gain over what was not measured is not claimed";
  EXPECT_THAT(ProgressLine(model_, progress_),
              HasSubstr("model 2.00 ms, 94 % of it estimated: 1 tasks without a kernel yet"));
  const auto json = nlohmann::json::parse(server::ProgressJson(model_, progress_));
  EXPECT_DOUBLE_EQ(json["model_ms"], 2);
  EXPECT_DOUBLE_EQ(json["measured_share"], 0.06);
  EXPECT_EQ(json["tasks_without_kernel"], 1);
}

TEST_F(ProgressViewTest, NoGainIsReportedOverDefaultsThatWereNotMeasured) {
  EXPECT_THAT(FinalTable(model_, progress_), Not(HasSubstr("no gain over the defaults")));
  progress_.mutable_tasks(1)->set_default_ns(0);
  const std::string table = FinalTable(model_, progress_);
  EXPECT_THAT(table, Not(HasSubstr("x), ")));
  EXPECT_THAT(table, HasSubstr("no gain over the defaults is known: 1 of 2 tasks were searched "
                               "without measuring theirs"));
  const auto json = nlohmann::json::parse(server::ProgressJson(model_, progress_));
  EXPECT_EQ(json["default_model_ms"], 0);
  EXPECT_EQ(json["tasks_without_default"], 1);
}

TEST_F(ProgressViewTest, Times) {
  EXPECT_EQ(TimeText(412), "412 ns");
  EXPECT_EQ(TimeText(4'120), "4.12 us");
  EXPECT_EQ(TimeText(412'345), "412 us");
  EXPECT_EQ(TimeText(4.1234e7), "41.2 ms");
  EXPECT_EQ(TimeText(1.5e9), "1.50 s");
}

TEST_F(ProgressViewTest, JsonHasTheSchemaAndTheTasks) {
  TuneOptions options;
  options.model = "m.onnx";
  progress_.set_state(proto::DONE);
  const auto json = nlohmann::json::parse(ResultJson(options, "ab", model_, progress_));
  EXPECT_EQ(json["schema"], "mlc.tune/1");
  EXPECT_EQ(json["event"], "result");
  EXPECT_EQ(json["state"], "done");
  EXPECT_EQ(json["outcomes"]["run_error"], 3);
  EXPECT_EQ(json["tasks"].size(), 2u);
  EXPECT_EQ(json["tasks"][1]["roofline_ns"], 1e8);
  EXPECT_EQ(nlohmann::json::parse(server::ProgressJson(model_, progress_))["event"], "progress");
}

}  // namespace
}  // namespace mlc::client
