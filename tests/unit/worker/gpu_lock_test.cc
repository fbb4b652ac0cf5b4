#include "worker/device/fleet/gpu_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "worker/device/fleet/gpu_usage.h"

namespace mlc::worker {
namespace {

using std::chrono::milliseconds;

class GpuLockTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  GpuLock Open(const std::string& uuid = "ab") {
    Result<GpuLock> lock = GpuLock::Open(folder_, uuid);
    EXPECT_TRUE(lock.ok()) << lock.status().ToString();
    return *std::move(lock);
  }

  std::string folder_ = ::testing::TempDir() + "/gpu_lock_XXXXXX";
  GpuLock::Clock::time_point now_ = GpuLock::Clock::now();
};

TEST_F(GpuLockTest, OneHoldsAndTheOtherWaits) {
  GpuLock one = Open(), other = Open(), elsewhere = Open("cd");
  EXPECT_TRUE(one.Take(now_));
  EXPECT_TRUE(one.Take(now_)) << "it has it";
  EXPECT_FALSE(other.Take(now_));
  EXPECT_TRUE(other.waits());
  EXPECT_TRUE(elsewhere.Take(now_)) << "another card";
  one.Leave();
  EXPECT_TRUE(other.Take(now_));
  EXPECT_FALSE(other.waits());
}

TEST_F(GpuLockTest, ATurnEndsUnderContention) {
  GpuLock one = Open(), other = Open();
  ASSERT_TRUE(one.Take(now_));
  one.EndOfKernel(now_ + milliseconds(600));
  EXPECT_TRUE(one.held()) << "nobody waits";
  EXPECT_FALSE(other.Take(now_));
  one.EndOfKernel(now_ + milliseconds(100));
  EXPECT_TRUE(one.held()) << "the turn is not over";
  one.EndOfKernel(now_ + milliseconds(600));
  EXPECT_FALSE(one.held());
  EXPECT_FALSE(one.Take(now_ + milliseconds(601))) << "the other one first";
  EXPECT_TRUE(other.Take(now_ + milliseconds(610)));
  EXPECT_FALSE(one.Take(now_ + milliseconds(700)));
  other.EndOfKernel(now_ + milliseconds(2000));
  EXPECT_TRUE(one.Take(now_ + milliseconds(2001)));
}

TEST_F(GpuLockTest, ADeadHolderLeavesNothingBehind) {
  GpuLock other = Open();
  {
    GpuLock one = Open();
    ASSERT_TRUE(one.Take(now_));
    ASSERT_FALSE(other.Take(now_));
  }
  EXPECT_TRUE(other.Take(now_));
}

// Everybody who may read the file may hold it, and need not give it up.
TEST_F(GpuLockTest, ALockThatIsNeverReleasedBlocksForALimitedTime) {
  GpuLock hostile = Open(), one = Open();
  ASSERT_TRUE(hostile.Take(now_));
  EXPECT_FALSE(one.Take(now_));
  EXPECT_FALSE(one.Take(now_ + GpuLock::kTimeout - milliseconds(10)));
  EXPECT_EQ(one.TakeWarning(), "");
  now_ += GpuLock::kTimeout;
  ASSERT_TRUE(one.Take(now_)) << "it goes on without a turn";
  EXPECT_FALSE(one.waits());
  const std::string warning = one.TakeWarning();
  EXPECT_NE(warning.find("mlc-gpu-ab.lock is held by process " + std::to_string(getpid())),
            std::string::npos)
      << warning;
  one.EndOfKernel(now_ + milliseconds(10));
  EXPECT_TRUE(one.Take(now_ + milliseconds(20))) << "it does not wait again";
  EXPECT_EQ(one.TakeWarning(), "") << "said once";
  one.EndOfKernel(now_ + milliseconds(30));
  EXPECT_FALSE(Open().Take(now_ + milliseconds(35))) << "the lock was not its own to give up";
  hostile.Leave();
  EXPECT_TRUE(one.Take(now_ + milliseconds(40)));
  EXPECT_FALSE(hostile.Take(now_ + milliseconds(50))) << "turns are taken again";
}

TEST_F(GpuLockTest, AHeldQueueBlocksNoWorker) {
  const int queue = open((folder_ + "/mlc-gpu-ab.queue").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(flock(queue, LOCK_EX), 0);
  GpuLock one = Open(), other = Open();
  ASSERT_TRUE(one.Take(now_));
  EXPECT_FALSE(other.Take(now_));
  EXPECT_TRUE(other.waits());
  one.EndOfKernel(now_ + milliseconds(600));
  EXPECT_TRUE(other.Take(now_ + milliseconds(601)));
  EXPECT_FALSE(other.waits());
  close(queue);
}

TEST_F(GpuLockTest, FilesThatCannotBeMadeAreAnError) {
  const Result<GpuLock> lock = GpuLock::Open(folder_ + "/nowhere", "ab");
  EXPECT_EQ(lock.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(lock.status().message().find("mlc-gpu-ab.lock"), std::string::npos);
}

TEST(GpuUsage, TellsWhatTheCardWaitedFor) {
  GpuUsage usage;
  EXPECT_EQ(usage.ToText(), "");
  auto now = GpuUsage::Clock::now();
  const auto note = [&](const GpuMoment& moment, int ms) {
    usage.Note(moment, now);
    now += milliseconds(ms);
  };
  note({.gpus = 1}, 5000);  // without trials
  note({.gpus = 1, .held = 8, .unbuilt = 8, .building = 1}, 1000);
  note({.gpus = 1, .busy = 1, .held = 8, .unbuilt = 7, .building = 1}, 6000);
  note({.gpus = 1, .held = 1, .unchecked = 1}, 500);
  note({.gpus = 1, .held = 1, .locked = true}, 1500);
  note({.gpus = 1, .held = 1}, 1000);
  note({.gpus = 1}, 9000);
  usage.CountTrials(8);
  usage.Note({}, now);
  EXPECT_DOUBLE_EQ(usage.BusyShare(), 0.6);
  EXPECT_EQ(usage.ToText(),
            "GPU busy 60 % of 10.0 s with trials (8 timed); idle: 10 % for builds, 5 % for "
            "references, 15 % for other workers, 10 % for trials; compilers 70 % busy");
  EXPECT_DOUBLE_EQ(usage.trial_seconds(), 10);
  EXPECT_DOUBLE_EQ(usage.busy_seconds(), 6);
  usage.CountMore(2);
  EXPECT_TRUE(usage.ToText().starts_with("GPU busy 60 % (20 % with more samples) of 10.0 s"));
}

}  // namespace
}  // namespace mlc::worker
