#include "worker/calm_timing.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace mlc::worker {
namespace {

constexpr int64_t kTimingNs = 20'000'000;

// A machine at half its speed in some spans of time; a kernel takes twice as long then.
class CalmTimingTest : public ::testing::Test {
 protected:
  bool Disturbed(int64_t at) const {
    for (const auto& [from, to] : disturbed_) {
      if (at >= from && at < to) return true;
    }
    return false;
  }
  CalmTiming Time() {
    return TimeCalmly(
        [&] {
          ++timings_;
          Timing timing;
          timing.median_ns = Disturbed(now_) ? 2000 : 1000;
          timing.samples = 7;
          now_ += kTimingNs;
          return timing;
        },
        {[&] { return now_; }, [&] { return Disturbed(now_) ? 0.5 : 0.98; },
         [&](int64_t ns) { now_ += ns; }},
        patience_);
  }

  std::vector<std::pair<int64_t, int64_t>> disturbed_;
  Patience patience_;
  int64_t now_ = 0;
  int timings_ = 0;
};

TEST_F(CalmTimingTest, ACalmMachineIsTimedOnceAtOnce) {
  const CalmTiming timed = Time();
  EXPECT_EQ(timed.calm, 0.98);
  EXPECT_EQ(timings_, 1);
  EXPECT_EQ(now_, kTimingNs);
  EXPECT_EQ(patience_.lost_ns, 0);
  EXPECT_EQ(patience_.timed_ns, kTimingNs);
}

TEST_F(CalmTimingTest, AShortDisturbanceIsWaitedFor) {
  disturbed_ = {{0, 12'000'000}};
  const CalmTiming timed = Time();
  EXPECT_EQ(timed.timing.median_ns, 1000);
  EXPECT_EQ(timed.calm, 0.98);
  EXPECT_EQ(timings_, 1);
  EXPECT_EQ(patience_.lost_ns, 15'000'000);
}

TEST_F(CalmTimingTest, ATimingThatIsDisturbedAtItsEndIsTakenAgain) {
  disturbed_ = {{kTimingNs / 2, kTimingNs + 1}};
  const CalmTiming timed = Time();
  EXPECT_EQ(timed.calm, 0.98);
  EXPECT_EQ(timings_, 2);
}

TEST_F(CalmTimingTest, OfTimingsThatWereAllDisturbedTheShortestStays) {
  // Each ends in a disturbance, and begins in one but the second.
  disturbed_ = {{0, 90'000'000}, {95'000'000, 116'000'000}, {116'000'000, 1'000'000'000}};
  const CalmTiming timed = Time();
  EXPECT_EQ(timed.calm, 0.5);
  EXPECT_EQ(timed.timing.median_ns, 1000);
  EXPECT_LE(timings_, 3);
}

TEST_F(CalmTimingTest, LossesAreBoundedOverManyTrials) {
  disturbed_ = {{0, INT64_MAX}};
  constexpr int kTrials = 100;
  for (int i = 0; i < kTrials; ++i) EXPECT_EQ(Time().calm, 0.5);
  EXPECT_EQ(patience_.timed_ns, kTrials * kTimingNs);
  EXPECT_LE(patience_.lost_ns, patience_.timed_ns + 200'000'000);
  EXPECT_EQ(now_, patience_.timed_ns + patience_.lost_ns);
}

}  // namespace
}  // namespace mlc::worker
