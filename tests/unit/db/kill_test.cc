// Whole-file operations killed at random moments: migration, snapshot, merge. Before and after are
// both sound; in between there is nothing.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "base/rng.h"
#include "db/snapshot/merge.h"
#include "db/snapshot/snapshot.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kKills = 20;
constexpr int kRecords = 400;

class KillTest : public LogFixture {
 protected:
  // Runs `work` in a child and kills it before it has taken `most_us`, if it lasts so long. True if
  // the kill came first.
  bool KillAtSomeTime(int64_t most_us, const std::function<bool()>& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work() ? 0 : 1);
    std::this_thread::sleep_for(
        std::chrono::microseconds(rng_.Below(static_cast<uint64_t>(most_us))));
    kill(child, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the work failed by itself";
    return WIFSIGNALED(status);
  }

  // How long `work` takes undisturbed, with some room.
  static int64_t TimeOf(const std::function<bool()>& work) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(work());
    const auto passed = std::chrono::steady_clock::now() - start;
    return 1000 + std::chrono::duration_cast<std::chrono::microseconds>(passed).count() * 5 / 4;
  }

  void RemoveLog(const std::string& name) {
    for (const char* suffix : {"", "-wal", "-shm", ".lock", ".v1.bak"}) {
      std::filesystem::remove(Path(name + suffix));
    }
  }

  void ExpectSound(const std::string& name, int64_t records) {
    const auto report = VerifyLog(Path(name));
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_THAT(report->problems, IsEmpty());
    EXPECT_EQ(report->records, records);
  }

  Rng rng_{static_cast<uint64_t>(getpid())};
};

TEST_F(KillTest, AMigrationIsDoneOrNotBegun) {
  Fill(Path("old.db"), 0, kRecords);
  const int next = kSchemaVersion + 2;
  const Migration steps[] = {{kSchemaVersion, "CREATE TABLE copy AS SELECT * FROM record"},
                             {kSchemaVersion + 1, "UPDATE copy SET detail=hex(randomblob(500))"}};
  const auto migrate = [&] {
    auto database = Database::Open(Path("new.db"), OpenMode::kReadWrite);
    return database.ok() && PrepareSchema(*database, Path("new.db"), steps, next).ok();
  };
  std::filesystem::copy_file(Path("old.db"), Path("new.db"));
  const int64_t time = TimeOf(migrate);
  const std::string backup = "new.db.v" + std::to_string(kSchemaVersion) + ".bak";
  for (int round = 0; round < kKills; ++round) {
    RemoveLog("new.db");
    std::filesystem::copy_file(Path("old.db"), Path("new.db"));
    KillAtSomeTime(time, migrate);
    {
      auto database = Database::Open(Path("new.db"), OpenMode::kReadWrite);
      ASSERT_TRUE(database.ok()) << database.status().ToString();
      const int64_t version = *database->Integer("PRAGMA user_version");
      EXPECT_THAT(version, ::testing::AnyOf(kSchemaVersion, next));
      EXPECT_EQ(database->Integer("SELECT count(*) FROM copy").ok(), version == next);
      EXPECT_EQ(*database->Integer("SELECT count(*) FROM record"), kRecords);
    }
    EXPECT_TRUE(migrate()) << "the next start brings it to its end";
    ExpectSound(backup, kRecords);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

TEST_F(KillTest, ASnapshotIsWholeOrNotThere) {
  Fill(Path("a.db"), 0, kRecords);
  const auto snapshot = [this] { return WriteSnapshot(Path("a.db"), Path("snap.db")).ok(); };
  const int64_t time = TimeOf(snapshot);
  for (int round = 0; round < kKills; ++round) {
    std::filesystem::remove(Path("snap.db"));
    const bool killed = KillAtSomeTime(time, snapshot);
    if (std::filesystem::exists(Path("snap.db"))) {
      ExpectSound("snap.db", kRecords);
    } else {
      EXPECT_TRUE(killed);
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  ASSERT_TRUE(snapshot());
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp."))) << "left by a killed one";
  }
}

TEST_F(KillTest, AMergeIsAllOrNothing) {
  Fill(Path("from.db"), kRecords, kRecords);
  Fill(Path("base.db"), 0, 10);
  const auto merge = [this] { return Merge(Path("into.db"), Path("from.db")).ok(); };
  std::filesystem::copy_file(Path("base.db"), Path("into.db"));
  const int64_t time = TimeOf(merge);
  for (int round = 0; round < kKills; ++round) {
    RemoveLog("into.db");
    std::filesystem::copy_file(Path("base.db"), Path("into.db"));
    KillAtSomeTime(time, merge);
    const int64_t records = (*OpenSqliteLogForReading(Path("into.db")))->Stats()->records;
    EXPECT_THAT(records, ::testing::AnyOf(10, 10 + kRecords));
    ExpectSound("into.db", records);
    EXPECT_TRUE(merge());
    ExpectSound("into.db", 10 + kRecords);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace mlc::db
