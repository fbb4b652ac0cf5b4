#include "db/report/knob_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "db/report/task_charts.h"
#include "tests/unit/db/report/tuning_data_of.h"

namespace mlc::report {
namespace {

using ::testing::ElementsAre;

TaskData TaskWith(int repeats) {
  std::vector<db::Record> records;
  int64_t id = 0;
  for (int i = 0; i < repeats; ++i) {
    for (const int slow : {0, 1}) {
      for (const int idle : {3, 5, 7}) {
        const std::string config =
            "f/1 slow=" + std::to_string(slow) + " idle=" + std::to_string(idle) + " fixed=4";
        ++id;
        records.push_back(CorrectRecord(id, config, slow == 1 ? 200 : 100 + i % 3));
      }
    }
  }
  return DataOf(records).tasks[0];
}

TEST(WeighKnobs, FindsTheKnobThatDecides) {
  const std::vector<KnobWeight> knobs = WeighKnobs(TaskWith(6));
  ASSERT_EQ(knobs.size(), 3u);
  EXPECT_EQ(knobs[0].name, "slow");
  EXPECT_EQ(knobs[0].chosen, 0);
  EXPECT_GT(knobs[0].weight, 0.99);
  EXPECT_DOUBLE_EQ(knobs[0].without, 2);
  EXPECT_THAT(knobs[1].tried, ElementsAre(3, 5, 7));
  EXPECT_EQ(knobs[1].weight, 0);
  EXPECT_DOUBLE_EQ(knobs[1].without, 1);
  EXPECT_THAT(knobs[2].tried, ElementsAre(4));
  EXPECT_EQ(knobs[2].weight, 0);
  EXPECT_EQ(knobs[2].without, 0);
}

TEST(WeighKnobs, LeavesFailuresConfirmationsAndOtherFamiliesOut) {
  TaskData task = TaskWith(2);
  db::Record failed = CorrectRecord(90, "f/1 slow=9 idle=3 fixed=4", 0);
  failed.measurement.outcome = Outcome::kRunError;
  task.records.push_back(failed);
  task.records.push_back(CorrectRecord(91, "f/1 slow=8 idle=3 fixed=4", 1, db::kConfirmationArm));
  task.records.push_back(CorrectRecord(92, "g/1 slow=7 idle=3 fixed=4", 1));
  EXPECT_THAT(WeighKnobs(task)[0].tried, ElementsAre(0, 1));
}

TEST(WeighKnobs, SaysNothingWithoutAChosenConfig) { EXPECT_TRUE(WeighKnobs(TaskData()).empty()); }

TEST(RankCorrelation, SaysWhetherEstimatesSortAsMeasurementsDo) {
  EXPECT_DOUBLE_EQ(RankCorrelation({{1, 10}, {2, 30}, {9, 31}}), 1);
  EXPECT_DOUBLE_EQ(RankCorrelation({{3, 10}, {2, 30}, {1, 31}}), -1);
  EXPECT_DOUBLE_EQ(RankCorrelation({{1, 1}, {1, 2}, {1, 3}}), 0);
  EXPECT_DOUBLE_EQ(RankCorrelation({{1, 1}, {2, 2}}), 0);
  EXPECT_DOUBLE_EQ(RankCorrelation({{1, 5}, {1, 5}, {2, 7}, {3, 9}}), 1) << "ties";
}

}  // namespace
}  // namespace mlc::report
