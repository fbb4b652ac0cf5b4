#include "db/report/advice.h"

#include <gtest/gtest.h>

#include "tests/unit/db/report/tuning_data_of.h"

namespace mlc::report {
namespace {

// `count` trials, of which the one numbered `gain` alone is faster than the first.
TuningData Searched(int64_t count, int64_t gain) {
  std::vector<db::Record> records;
  for (int64_t i = 1; i <= count; ++i) {
    records.push_back(CorrectRecord(i, "f/1 a=" + std::to_string(i), i == gain ? 50 : 100));
  }
  return DataOf(records);
}

std::string VerdictOf(const TuningData& data) { return AdviceOf(data, data.tasks[0]).verdict; }

TEST(Advice, SaysWhetherMoreTrialsArePromising) {
  EXPECT_EQ(VerdictOf(Searched(10, 3)), "Hardly searched: give it more trials.");
  EXPECT_EQ(VerdictOf(Searched(40, 39)), "Still improving: give it more trials.");
  EXPECT_EQ(VerdictOf(Searched(40, 10)), "Settled: the last 30 trials found nothing better.");
  EXPECT_EQ(VerdictOf(Searched(40, 25)), "May improve a little with more trials.");
  EXPECT_EQ(AdviceOf(Searched(40, 25), Searched(40, 25).tasks[0]).last_gain, 25);
}

TEST(Advice, SaysWhereNothingIsToBeGained) {
  TuningData data = Searched(40, 39);
  data.tasks[0].roofline_ns = 45;
  EXPECT_EQ(VerdictOf(data), "Near the peak of the device: hardly anything to gain.");
  EXPECT_DOUBLE_EQ(AdviceOf(data, data.tasks[0]).headroom, 0.1);
  data.variants[0].best_ns = 50 * 1000;
  EXPECT_EQ(VerdictOf(data), "Too small a share of the time to matter.");
}

TEST(Advice, SaysWhatHasNoKernel) {
  TuningData data = DataOf({});
  EXPECT_EQ(VerdictOf(data), "Not tried yet.");
  db::Record failed = CorrectRecord(1, "f/1 a=1", 0);
  failed.measurement.outcome = Outcome::kWrongResult;
  EXPECT_EQ(VerdictOf(DataOf({failed})), "No correct kernel yet: see its failures.");
}

TEST(Advice, NoiseIsNoGain) {
  TuningData data = DataOf({CorrectRecord(1, "f/1 a=1", 100), CorrectRecord(2, "f/1 a=2", 99.5)});
  EXPECT_EQ(AdviceOf(data, data.tasks[0]).last_gain, 1);
}

}  // namespace
}  // namespace mlc::report
