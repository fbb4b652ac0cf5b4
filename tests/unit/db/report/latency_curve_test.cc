#include "db/report/latency_curve.h"

#include <gtest/gtest.h>

#include "tests/unit/db/report/tuning_data_of.h"

namespace mlc::report {
namespace {

TEST(LatencyCurve, FallsWithEachBetterConfigOfEachTask) {
  TuningData data = DataOf({CorrectRecord(1, "f/1 a=1", 100, "default"),
                            CorrectRecord(3, "f/1 a=2", 60), CorrectRecord(4, "f/1 a=3", 80)},
                           2);
  TaskData other = DataOf({CorrectRecord(2, "f/1 b=1", 50, "default")}).tasks[0];
  data.tasks.push_back(other);
  const std::vector<CurvePoint> curve = LatencyCurve(data);
  ASSERT_EQ(curve.size(), 5u);
  const double expected[] = {250, 250, 250, 170, 170};
  for (size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].trial, static_cast<int64_t>(i));
    EXPECT_DOUBLE_EQ(curve[i].ns, expected[i]) << i;
  }
  EXPECT_DOUBLE_EQ(curve.back().seconds, 3);
}

TEST(LatencyCurve, StartsWithWhatEarlierJobsFound) {
  TuningData data = DataOf({CorrectRecord(1, "f/1 a=1", 100, "default"),
                            CorrectRecord(2, "f/1 a=2", 40), CorrectRecord(3, "f/1 a=3", 30)});
  data.tasks[0].records[0].job_id = data.tasks[0].records[1].job_id = {2, 2};
  data.job.watermark = 2;
  std::vector<CurvePoint> curve = LatencyCurve(data);
  ASSERT_EQ(curve.size(), 2u);
  EXPECT_DOUBLE_EQ(curve[0].ns, 40);
  EXPECT_DOUBLE_EQ(curve[1].ns, 30);
  data.fresh = true;
  EXPECT_DOUBLE_EQ(LatencyCurve(data)[0].ns, 100) << "a fresh job takes no such times";
}

TEST(LatencyCurve, SingleTimesCountAsIfTheyWereConfirmed) {
  const TuningData data =
      DataOf({CorrectRecord(1, "f/1 a=1", 100, "default"), CorrectRecord(2, "f/1 a=2", 80),
              CorrectRecord(3, "f/1 a=1", 120, db::kConfirmationArm),
              CorrectRecord(4, "f/1 a=2", 130, db::kConfirmationArm)});
  const std::vector<CurvePoint> curve = LatencyCurve(data);
  ASSERT_EQ(curve.size(), 5u);
  // Confirmation costs a factor of 1.2 and 1.625; the larger one is the median of two.
  EXPECT_DOUBLE_EQ(curve[2].ns, 80 * 1.625);
  EXPECT_DOUBLE_EQ(curve[3].ns, 120);
  EXPECT_DOUBLE_EQ(curve[4].ns, 120);
}

TEST(LatencyCurve, LongPausesDoNotCount) {
  TuningData data = DataOf({CorrectRecord(1, "f/1 a=1", 100), CorrectRecord(2, "f/1 a=2", 90)});
  data.tasks[0].records[1].created_us = int64_t{86'400} * 1'000'000;
  EXPECT_DOUBLE_EQ(LatencyCurve(data).back().seconds, kLongestPauseSeconds);
}

TEST(LatencyCurve, IsEmptyWhereATaskHasNoTime) {
  TuningData data = DataOf({CorrectRecord(1, "f/1 a=1", 100)});
  TaskData missing;
  missing.uses = {1};
  data.tasks.push_back(missing);
  EXPECT_TRUE(LatencyCurve(data).empty());
  data.tasks.back().uses = {0};
  EXPECT_FALSE(LatencyCurve(data).empty()) << "a task that the variant does not execute";
}

TEST(BestSoFar, AnotherConfigLeadsWhenTheLeaderIsConfirmedSlower) {
  const std::vector<db::Record> all = {CorrectRecord(1, "f/1 a=1", 100),
                                       CorrectRecord(2, "f/1 a=2", 101),
                                       CorrectRecord(3, "f/1 a=1", 200, db::kConfirmationArm),
                                       CorrectRecord(4, "f/1 a=2", 105, db::kConfirmationArm),
                                       CorrectRecord(5, "f/1 a=3", 500),
                                       CorrectRecord(6, "f/1 a=3", 501, db::kConfirmationArm)};
  BestSoFar best(all);
  EXPECT_EQ(best.ns(), 0);
  for (size_t i = 0; i < 3; ++i) best.Add(all[i]);
  EXPECT_DOUBLE_EQ(best.ns(), 101 * best.factor());
  best.Add(all[3]);
  EXPECT_DOUBLE_EQ(best.ns(), 105);
}

}  // namespace
}  // namespace mlc::report
