#include "base/machine/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace mlc::target {
namespace {

class MemoryTest : public testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root_) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root_ = testing::TempDir() + "/memory_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
};

TEST_F(MemoryTest, HasNoLimitWithoutControlGroups) {
  EXPECT_EQ(MemoryLimit(root_), 0);
  EXPECT_GT(UsableMemory(), int64_t{1} << 28);
}

TEST_F(MemoryTest, IsTheLeastOnTheWayUp) {
  Write("proc/self/cgroup", "0::/jobs/a.scope\n");
  Write("sys/fs/cgroup/jobs/memory.max", "137438953472\n");
  Write("sys/fs/cgroup/jobs/a.scope/memory.max", "max\n");
  EXPECT_EQ(MemoryLimit(root_), int64_t{128} << 30);
  Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(MemoryLimit(root_), int64_t{1} << 30) << "a container sees its own group there";
}

TEST_F(MemoryTest, IsReadOfVersion1) {
  Write("proc/self/cgroup", "4:cpu,cpuacct:/docker/1f\n3:memory:/docker/1f\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(MemoryLimit(root_), 0);
  Write("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(MemoryLimit(root_), int64_t{2} << 30);
}

}  // namespace
}  // namespace mlc::target
