#include "base/rpc/clock_watch.h"

#include <gtest/gtest.h>

namespace mlc::transport {
namespace {

constexpr int64_t kDay = 86'400'000;

TEST(ClockWatchTest, AStepBackIsNoticedAndStays) {
  ClockWatch watch(kDay, 0);
  EXPECT_EQ(watch.SetBackMs(kDay + 5'000, 5'000), 0);
  EXPECT_EQ(watch.SetBackMs(10'000, 10'000), kDay);
  EXPECT_EQ(watch.SetBackMs(20'000, 20'000), kDay);
}

TEST(ClockWatchTest, StepsForthAndSmallOnesAreNone) {
  ClockWatch watch(0, 0);
  EXPECT_EQ(watch.SetBackMs(kDay + 1'000, 1'000), 0);
  EXPECT_EQ(watch.SetBackMs(kDay + 2'000 - ClockWatch::kMostMs, 2'000), 0);
  // Back to where it began: timers that were set meanwhile wait for a day.
  EXPECT_EQ(watch.SetBackMs(3'000, 3'000), kDay);
}

TEST(ClockWatchTest, TheClocksOfThisMachineRunAlike) {
  ClockWatch watch;
  EXPECT_EQ(watch.SetBackMs(), 0);
  EXPECT_EQ(watch.SetBackMs(), 0);
}

}  // namespace
}  // namespace mlc::transport
