#include "worker/engine/device_time.h"

#include <gtest/gtest.h>

namespace mlc::worker {
namespace {

DeviceTime::Clock::time_point At(double seconds) {
  return DeviceTime::Clock::time_point(std::chrono::duration_cast<DeviceTime::Clock::duration>(
      std::chrono::duration<double>(1000 + seconds)));
}

TEST(DeviceTimeTest, WaitingIsWhatDevicesDoWhileThereAreTrialsForThem) {
  DeviceTime time(4);
  time.Note(0, 0, At(0));
  time.Note(3, 0, At(60));  // nothing was there before
  time.Note(3, 2, At(61));  // three for four devices, waiting for their builds
  time.Note(9, 4, At(63));  // one of them still
  time.Note(9, 3, At(70));  // all at work
  time.Note(0, 0, At(71));
  EXPECT_NEAR(time.TakeUnattributed(), 3 + 2 + 1, 1e-9);
  EXPECT_EQ(time.TakeUnattributed(), 0) << "paid";
}

TEST(DeviceTimeTest, ATaskWithoutAResultIsPaidByTheNext) {
  DeviceTime time(1);
  time.AddUnattributed(2.5);
  EXPECT_EQ(time.TakeUnattributed(), 2.5);
}

}  // namespace
}  // namespace mlc::worker
