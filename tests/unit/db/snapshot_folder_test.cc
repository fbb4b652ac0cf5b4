#include "db/snapshot/snapshot_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kStart = 1'700'000'000 * kSecond;  // 2023-11-14T22:13:20Z

std::string Name(int64_t wall_us, int content) {
  return SnapshotName(wall_us, mlc::DigestOf(std::to_string(content)));
}

class SnapshotFolderTest : public LogFixture {
 protected:
  Result<PublishedSnapshot> Publish(int64_t wall_us, const SnapshotPolicy& policy = {}) {
    return PublishSnapshot(Path("a.db"), Path("snapshots"), policy, wall_us);
  }
  std::string Latest() const {
    return std::filesystem::read_symlink(Path("snapshots/latest.db")).string();
  }
};

TEST(SnapshotPolicyTest, TheNewestAndTheLastOfEachDayAreKept) {
  const std::vector<std::string> names = {Name(kStart - 3 * kDay, 1),
                                          Name(kStart - 2 * kDay, 2),
                                          Name(kStart - kDay, 3),
                                          Name(kStart - kDay + kSecond, 4),
                                          Name(kStart, 5),
                                          Name(kStart + kSecond, 6)};
  EXPECT_THAT(OutdatedSnapshots(names, {.newest = 1, .days = 2}),
              UnorderedElementsAre(names[0], names[1], names[2], names[4]));
  EXPECT_THAT(OutdatedSnapshots(names, {.newest = 3, .days = 0}),
              UnorderedElementsAre(names[0], names[1], names[2]));
  EXPECT_THAT(OutdatedSnapshots(names, {.newest = 0, .days = 0}).size(), 5u) << "one stays always";
  EXPECT_THAT(OutdatedSnapshots(names, {.newest = 1, .days = 30}),
              UnorderedElementsAre(names[2], names[4]));
}

TEST(SnapshotPolicyTest, FilesOfOthersAreNotTouched) {
  EXPECT_THAT(OutdatedSnapshots({"latest.db", "notes.txt", "tuning-.db", "tuning-20200101.db"},
                                {.newest = 1, .days = 0}),
              IsEmpty());
}

TEST_F(SnapshotFolderTest, EachChangeIsAFileOfItsOwnAndTheLinkFollows) {
  Fill(Path("a.db"), 0, 3);
  auto first = Publish(kStart);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_THAT(first->path, HasSubstr("/tuning-20231114T221320Z-" + first->info.content.ToText()));
  Fill(Path("a.db"), 3, 2);
  auto second = Publish(kStart + 5 * kSecond);
  EXPECT_EQ(Path("snapshots/" + Latest()), second->path);
  EXPECT_EQ((*OpenSqliteLogForReading(first->path))->Stats()->records, 3);
  EXPECT_EQ((*OpenSqliteLogForReading(Path("snapshots/latest.db")))->Stats()->records, 5);
  struct stat info;
  ASSERT_EQ(stat(second->path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0444u);
}

TEST_F(SnapshotFolderTest, NothingNewPublishesNothing) {
  Fill(Path("a.db"), 0, 3);
  auto first = Publish(kStart);
  auto second = Publish(kStart + kDay);
  EXPECT_TRUE(first->is_new);
  EXPECT_FALSE(second->is_new);
  EXPECT_EQ(first->path, second->path);
}

TEST_F(SnapshotFolderTest, AClockThatStepsBackDoesNotHideTheNewest) {
  Fill(Path("a.db"), 0, 1);
  ASSERT_TRUE(Publish(kStart).ok());
  Fill(Path("a.db"), 1, 1);
  auto second = Publish(kStart - kDay, {.newest = 1, .days = 0});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(Path("snapshots/" + Latest()), second->path);
  EXPECT_THAT(second->path, HasSubstr("tuning-20231114T221321Z-"));
  EXPECT_EQ(second->removed.size(), 1u);
}

TEST_F(SnapshotFolderTest, ADamagedLogLeavesTheFolderAsItWas) {
  Fill(Path("a.db"), 0, 3);
  ASSERT_TRUE(Publish(kStart).ok());
  const std::string before = Latest();
  std::fstream file(Path("a.db"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(0);
  file << "nonsense";
  file.close();
  EXPECT_FALSE(Publish(kStart + kSecond).ok());
  EXPECT_EQ(Latest(), before);
  EXPECT_FALSE(std::filesystem::exists(Path("snapshots/.incoming.db")));
}

TEST_F(SnapshotFolderTest, TwoPublishersTakeTurns) {
  Fill(Path("a.db"), 0, 1);
  ASSERT_TRUE(Publish(kStart).ok());
  const int other = open(Path("snapshots/.publish.lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  auto refused = Publish(kStart + kSecond);
  close(other);
  EXPECT_EQ(refused.status().code(), StatusCode::kAborted);
  EXPECT_THAT(refused.status().message(), HasSubstr("another process publishes"));
}

}  // namespace
}  // namespace mlc::db
