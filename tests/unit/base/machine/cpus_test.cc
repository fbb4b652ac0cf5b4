#include "base/machine/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace mlc::target {
namespace {

// A tree of control groups in a folder of its own.
class QuotaTest : public testing::Test {
 protected:
  QuotaTest() {
    root_ = testing::TempDir() + "/groups_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "proc/self");
    std::filesystem::create_directories(root_ / "sys/fs/cgroup");
  }
  ~QuotaTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(QuotaTest, NoneWithoutControlGroups) {
  EXPECT_EQ(CpuQuota(root_), 0);
  EXPECT_EQ(CpuQuota(root_ / "nowhere"), 0);
}

TEST_F(QuotaTest, OfAContainerThatSeesItsOwnRoot) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 2.5);
}

TEST_F(QuotaTest, TheLeastOnTheWayUp) {
  Write("proc/self/cgroup", "1:name=systemd:/else\n0::/user.slice/a.scope\n");
  Write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  Write("sys/fs/cgroup/user.slice/a.scope/cpu.max", "800000 100000\n");
  Write("sys/fs/cgroup/else/cpu.max", "10000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
}

TEST_F(QuotaTest, OfVersion1) {
  Write("proc/self/cgroup", "7:cpuset:/c\n4:cpu,cpuacct:/docker/1f\n1:name=systemd:/docker/1f\n");
  Write("sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_quota_us", "300000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), 3);
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), 0.5) << "a container sees its own group there";
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CpuQuota(root_), 3);
}

TEST_F(QuotaTest, NoneWhereNoneIsSetOrReadable) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a/b/cpu.max", "100000 0\n");
  EXPECT_EQ(CpuQuota(root_), 0);
  Write("sys/fs/cgroup/a/cpu.max", "");
  EXPECT_EQ(CpuQuota(root_), 0);
}

TEST(Cpus, FollowTheAffinityOfTheThreadThatAsks) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_GE(UsableCpus(), 1);
  EXPECT_LE(UsableCpus(), CPU_COUNT(&allowed));
  // In a thread of its own, whose mask ends with it.
  std::thread([&] {
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(UsableCpus(), 1);
  }).join();
}

}  // namespace
}  // namespace mlc::target
