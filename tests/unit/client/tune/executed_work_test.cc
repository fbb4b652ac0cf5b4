#include "server/state/executed_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/progress/progress_view.h"
#include "client/progress/tune_report.h"
#include "compiler/schedule/space/family.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ExecutedWorkTest : public ::testing::Test {
 protected:
  ExecutedWorkTest() {
    const Result<graph::Workload> parsed = graph::Workload::Parse(
        "workload v1 tolerance=1e-04 {\n"
        "  %0 = input() : f32[1,64,56,56]{200704,1,3584,64}\n"
        "  %1 = weight() : f32[64,64,3,3]\n"
        "  %2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[1,1,1,1], strides=[1,1]} : "
        "f32[1,64,56,56]{200704,1,3584,64}\n"
        "  return %2\n}\n");
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    workload_ = std::make_shared<const graph::Workload>(*parsed);
    target_.cpu().isa = target::Isa::kAvx512;
    target_.fma_gflops = 100;
  }

  std::string Default(const std::string& family) const {
    return schedule::FindFamily(family)->Default(*workload_, target_).ToText();
  }
  double Share(const std::string& config) const {
    return server::ExecutedShare(*workload_, target_, config);
  }

  std::shared_ptr<const graph::Workload> workload_;
  target::Target target_;
};

TEST_F(ExecutedWorkTest, WinogradExecutesLessThanADirectConvolution) {
  EXPECT_LT(Share(Default("winograd")), 0.7);
  EXPECT_GT(Share(Default("winograd")), 0.25) << "with its transforms";
  // Taps beside the image are left out.
  EXPECT_GT(Share(Default("contraction")), 0.95);
}

TEST_F(ExecutedWorkTest, OfAnUnknownConfigNothingIsSaid) {
  for (const char* config : {"", "winograd/1", "winograd/99 m=4", "nonsense/1 x=2", "\x1b[2J",
                             "winograd/1 m=4 mr=14 nr=4 groups=1 col_chunks=1 unroll=3"}) {
    EXPECT_EQ(Share(config), 1) << config;
  }
}

TEST_F(ExecutedWorkTest, AShareOfTheRoofOfTheExecutedWorkIsMarked) {
  server::ModelInfo model;
  model.tasks = {{"k0",
                  "conv 3x3",
                  "conv1",
                  {1},
                  workload_->Flops(),
                  workload_->MinBytes(),
                  false,
                  workload_}};
  proto::JobProgress progress;
  progress.set_target(target_.ToText());
  proto::TaskProgress& task = *progress.add_tasks();
  task.set_best_config(Default("winograd"));
  // Twice as fast as the roofline of the direct convolution.
  task.set_best_ns(workload_->Flops() / target_.fma_gflops / 2);
  const double share = 100 * 2 * Share(Default("winograd"));
  char marked[16];
  std::snprintf(marked, sizeof marked, " %3.0f%%* ", share);
  EXPECT_LT(share, 140);
  EXPECT_THAT(FinalTable(model, progress), HasSubstr(marked));
  EXPECT_THAT(FinalTable(model, progress), HasSubstr("* roof of the executed arithmetic, "));
  EXPECT_THAT(FinalTable(model, progress), HasSubstr(" % of the task's (whose roof: 200 %): conv"));
  const auto share_of = [&] {
    const std::string json = ResultJson(TuneOptions(), "ab", model, progress);
    return nlohmann::json::parse(json)["tasks"][0]["executed_share"].get<double>();
  };
  EXPECT_DOUBLE_EQ(share_of(), Share(Default("winograd")));
  task.set_best_config(Default("contraction"));
  EXPECT_THAT(FinalTable(model, progress), HasSubstr(" 200%  "));
  EXPECT_THAT(FinalTable(model, progress), Not(HasSubstr("*")));
  EXPECT_DOUBLE_EQ(share_of(), Share(Default("contraction")));
}

}  // namespace
}  // namespace mlc::client
