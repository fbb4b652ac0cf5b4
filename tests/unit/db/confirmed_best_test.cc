#include "db/confirmed_best.h"

#include <gmock/gmock.h>

#include "base/rng.h"
#include "db/confirmed_times.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::ElementsAre;

class ConfirmedBestTest : public LogFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(log_->AddWorkload(TheWorkload()).ok()); }
  void Add(const char* config, double ns, const char* arm = "model") {
    Record record = MakeRecord(++count_, ns);
    record.config = config;
    record.arm = arm;
    ASSERT_TRUE(AppendAndWait(*log_, record).ok());
  }
  std::vector<std::string> Best(int limit, const TuningLog::Accept& accept = {},
                                int64_t up_to_id = INT64_MAX) {
    const auto best = BestConfigs(*log_, TheWorkload().key, "cpu", limit, accept, up_to_id);
    EXPECT_TRUE(best.ok()) << best.status().ToString();
    std::vector<std::string> lines;
    for (const Record& record : *best) {
      lines.push_back(record.config + " " +
                      std::to_string(static_cast<int>(record.measurement.median_ns)));
    }
    return lines;
  }

  std::unique_ptr<TuningLog> log_ = MakeMemoryLog();
  int count_ = 0;
};

TEST_F(ConfirmedBestTest, WithoutConfirmationsTheFastestTimeOfEachConfigCounts) {
  Add("a/1 x=1", 1000);
  Add("a/1 x=2", 900);
  Add("a/1 x=1", 800);
  EXPECT_THAT(Best(5), ElementsAre("a/1 x=1 800", "a/1 x=2 900"));
  EXPECT_THAT(Best(1), ElementsAre("a/1 x=1 800"));
}

TEST_F(ConfirmedBestTest, ATooShortTimeLosesToItsConfirmation) {
  Add("a/1 x=1", 1000);  // too short
  Add("a/1 x=2", 1010);
  Add("a/1 x=1", 1060, "verify");
  Add("a/1 x=2", 1020, "verify");
  EXPECT_THAT(Best(5), ElementsAre("a/1 x=2 1020", "a/1 x=1 1060"));
}

TEST_F(ConfirmedBestTest, TheNewestConfirmationCounts) {
  Add("a/1 x=1", 1000, "verify");
  Add("a/1 x=2", 1010, "verify");
  Add("a/1 x=1", 1050, "verify");
  EXPECT_THAT(Best(1), ElementsAre("a/1 x=2 1010"));
}

TEST_F(ConfirmedBestTest, ConfirmedTimesArePreferredToSingleOnesWithinTheirNoise) {
  Add("a/1 x=1", 1000, "verify");
  Add("a/1 x=2", 990);
  EXPECT_THAT(Best(1), ElementsAre("a/1 x=1 1000"));
  Add("a/1 x=3", 900);
  EXPECT_THAT(Best(1), ElementsAre("a/1 x=3 900"));
}

// Confirmed in a slow period, or under steady load: what was not confirmed would be slower, too.
TEST_F(ConfirmedBestTest, SingleTimesAreScaledAsConfirmationScaledTheOthers) {
  for (int n = 0; n < 5; ++n) {
    Add(("a/1 x=" + std::to_string(n)).c_str(), 1000 + n);
    Add(("a/1 x=" + std::to_string(n)).c_str(), 1300 + n, "verify");
  }
  Add("a/1 x=8", 1100);
  EXPECT_THAT(Best(1), ElementsAre("a/1 x=0 1300"));
  Add("a/1 x=9", 900);
  EXPECT_THAT(Best(1), ElementsAre("a/1 x=9 900"));
}

TEST_F(ConfirmedBestTest, ConfirmationsCountHoweverManySingleTimesAreFaster) {
  Add("a/1 x=0", 1000);
  Add("a/1 x=0", 1500, "verify");
  Add("a/1 x=1", 1001);
  Add("a/1 x=1", 1400, "verify");
  for (int n = 2; n < 200; ++n) Add(("a/1 x=" + std::to_string(n)).c_str(), 1100 + n);
  EXPECT_THAT(Best(2), ElementsAre("a/1 x=1 1400", "a/1 x=0 1500"));
}

TEST_F(ConfirmedBestTest, HistoryAtTheTopHidesNothing) {
  for (int n = 0; n < 100; ++n) Add(("old/1 x=" + std::to_string(n)).c_str(), 10 + n);
  Add("a/1 x=1", 1000);
  Add("a/1 x=2", 1010, "verify");
  const auto is_new = [](const Record& r) { return r.config.starts_with("a/"); };
  EXPECT_THAT(Best(1, is_new), ElementsAre("a/1 x=2 1010"));
}

// Equal, faster and confirmed times of the same configs among them.
TEST_F(ConfirmedBestTest, LaterRecordsThanTheLastThatCountsChangeNothing) {
  Rng rng(7);
  for (int n = 0; n < 300; ++n) {
    const double ns = 1000 + static_cast<double>(rng.Below(40));
    Add(("a/1 x=" + std::to_string(rng.Below(100))).c_str(), ns, n % 9 == 8 ? "verify" : "model");
  }
  const auto is_even = [](const Record& r) { return (r.config.back() - '0') % 2 == 0; };
  const std::vector<std::string> all = Best(8), even = Best(8, is_even);
  for (int n = 0; n < 300; ++n) {
    const double ns = 980 + static_cast<double>(rng.Below(40));
    Add(("a/1 x=" + std::to_string(rng.Below(200))).c_str(), ns, n % 9 == 8 ? "verify" : "model");
  }
  EXPECT_EQ(Best(8, {}, 300), all);
  EXPECT_EQ(Best(8, is_even, 300), even);
  EXPECT_NE(Best(8), all);
}

// Whatever came before, records beyond the bound leave the answer as it is.
TEST_F(ConfirmedBestTest, AnAnswerHoldsAgainstLongerTimes) {
  Rng rng(3);
  int held = 0;
  for (const int limit : {1, 3}) {
    log_ = MakeMemoryLog();
    SetUp();
    std::vector<std::string> kept;
    double holds_above_ns = 0;
    for (int n = 0; n < 400; ++n) {
      const double ns = 1000 + static_cast<double>(rng.Below(1000));
      const bool confirms = n > 150 && rng.Below(20) == 0;
      Add(("a/1 x=" + std::to_string(rng.Below(150))).c_str(), ns, confirms ? "verify" : "model");
      const bool holds = n > 0 && !confirms && ns > holds_above_ns;
      if (holds) {
        EXPECT_EQ(Best(limit), kept) << "record " << n;
      }
      held += holds ? 1 : 0;
      kept = Best(limit);
      if (!holds) {
        holds_above_ns = FindBestConfigs(*log_, TheWorkload().key, "cpu", limit)->holds_above_ns;
      }
    }
  }
  EXPECT_GT(held, 300);
}

TEST(ConfirmedTimesTest, TheFactorIsTheMedianOfTheQuotientsButNotBelowTheLeast) {
  EXPECT_EQ(UnconfirmedFactor({}), kLeastUnconfirmedFactor);
  const ConfigTimes slower[] = {{100, 120}, {100, 180}, {100, 90}, {100, 0}, {0, 500}};
  EXPECT_DOUBLE_EQ(UnconfirmedFactor(slower), 1.2);
  const ConfigTimes faster[] = {{100, 80}, {100, 82}};
  EXPECT_EQ(UnconfirmedFactor(faster), kLeastUnconfirmedFactor);
  EXPECT_EQ(Weighed({100, 0}, 1.5), 150);
  EXPECT_EQ(Weighed({100, 130}, 1.5), 130);
}

}  // namespace
}  // namespace mlc::db
