// What only a file can do: locks, full disks, damage.
#include "db/sqlite/sqlite_log.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>

#include "base/process/file_lock.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/commit_queue.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::HasSubstr;

class SqliteLogTest : public LogFixture {};

TEST_F(SqliteLogTest, SurvivesReopening) {
  Fill(Path("a.db"), 0, 100);
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE(log.ok());
  EXPECT_EQ((*log)->Stats()->records, 100);
  EXPECT_EQ((*log)->Stats()->schema_version, kSchemaVersion);
}

TEST_F(SqliteLogTest, HasOneWriterAndNamesIt) {
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE(log.ok());
  auto second = OpenSqliteLog(Path("a.db"));
  ASSERT_EQ(second.status().code(), StatusCode::kAborted);
  EXPECT_THAT(second.status().message(),
              HasSubstr("another mlc-server uses this log: pid " + std::to_string(getpid())));
  log->reset();
  EXPECT_TRUE(OpenSqliteLog(Path("a.db")).ok());
}

TEST_F(SqliteLogTest, ReadersSeeALiveLogAndCannotWrite) {
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
  auto reader = OpenSqliteLogForReading(Path("a.db"));
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  ASSERT_TRUE(AppendAndWait(**log, MakeRecord(1)).ok());
  EXPECT_EQ((*reader)->Stats()->records, 1);
  EXPECT_EQ(AppendAndWait(**reader, MakeRecord(2)).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ((*reader)->Flush().code(), StatusCode::kPermissionDenied);
}

TEST_F(SqliteLogTest, ReadingAMissingFileCreatesNothing) {
  EXPECT_EQ(OpenSqliteLogForReading(Path("none.db")).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(Path("none.db")));
}

// A file made by another program may lack the checks.
TEST_F(SqliteLogTest, NumbersThatStandForNothingAreDamage) {
  Fill(Path("a.db"), 0, 4);
  {
    auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(database
                    ->Execute("PRAGMA ignore_check_constraints=ON;"
                              "UPDATE record SET outcome=99999 WHERE id=1;"
                              "UPDATE record SET outcome=-9223372036854775808 WHERE id=2")
                    .ok());
  }
  auto log = OpenSqliteLogForReading(Path("a.db"));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  const auto stats = (*log)->Stats();
  ASSERT_TRUE(stats.ok()) << stats.status().ToString();
  EXPECT_EQ(stats->records, 4);
  EXPECT_EQ(stats->by_outcome[static_cast<size_t>(Outcome::kInfra)], 2);
  const auto records = (*log)->List({});
  if (records.ok()) {
    for (const Record& record : *records) EXPECT_LE(record.measurement.outcome, Outcome::kInfra);
  }
  const auto report = VerifyLog(Path("a.db"));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_FALSE(report->problems.empty());
}

TEST_F(SqliteLogTest, ADamagedBestIsReportedNotReturned) {
  Fill(Path("a.db"), 0, 3);
  {
    auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(database->Execute("UPDATE record SET median_ns=1, p10_ns=1 WHERE id=2").ok());
  }
  auto log = OpenSqliteLogForReading(Path("a.db"));
  auto best = (*log)->Best(TheWorkload().key, "cpu", 1);
  ASSERT_EQ(best.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(best.status().message(), HasSubstr("record 2 "));
}

TEST_F(SqliteLogTest, TheSchemaItselfRefusesImpossibleRows) {
  Fill(Path("a.db"), 0, 1);
  auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
  for (const char* change :
       {"median_ns=NULL", "median_ns=-1", "median_ns=9e999", "median_ns='fast'", "runs=2",
        "outcome=7", "outcome=3", "floor_ns=1e6", "task_uid=x'00'", "p90_ns=1"}) {
    EXPECT_EQ(database->Execute(std::string("UPDATE record SET ") + change).code(),
              StatusCode::kInvalidArgument)
        << change;
  }
}

// RLIMIT_FSIZE would kill or fail with EFBIG; max_page_count gives SQLITE_FULL, as a disk does.
TEST_F(SqliteLogTest, AFullDiskRefusesWritesAndThenGoesOn) {
  auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
  ASSERT_TRUE(database->Execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x)").ok());
  CommitQueue queue(*std::move(database), {});
  auto insert = [](Database& db) { return db.Execute("INSERT INTO t VALUES(randomblob(100000))"); };
  ASSERT_TRUE(queue.PushAndWait(insert).ok());
  auto limit = [&queue](int pages) {
    return queue.PushAndWait([pages](Database& db) {
      return db.Execute("PRAGMA max_page_count=" + std::to_string(pages));
    });
  };
  ASSERT_TRUE(limit(40).ok());
  const Status full = queue.PushAndWait(insert);
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("writes are refused until there is free space"));
  auto reader = Database::Open(Path("a.db"), OpenMode::kReadOnly);
  EXPECT_EQ(*reader->Integer("SELECT count(*) FROM t"), 1);
  ASSERT_TRUE(limit(100000).ok());
  EXPECT_TRUE(queue.PushAndWait(insert).ok());
  EXPECT_EQ(*reader->Integer("SELECT count(*) FROM t"), 2);
}

// A caller that waits for a commit waits for a checkpoint at most as long as that.
TEST_F(SqliteLogTest, TheWriteAheadLogStaysShortHoweverManyPagesAWriteTakes) {
  auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
  ASSERT_TRUE(database
                  ->Execute("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
                            "PRAGMA synchronous=OFF; CREATE TABLE t(x)")
                  .ok());
  CommitQueue queue(*std::move(database), {});
  for (int n = 0; n < 300; ++n) {
    const Status inserted = queue.PushAndWait(
        [](Database& db) { return db.Execute("INSERT INTO t VALUES(zeroblob(100000))"); });
    ASSERT_TRUE(inserted.ok()) << inserted.ToString();
  }
  EXPECT_GT(std::filesystem::file_size(Path("a.db")), 25'000'000u);
  EXPECT_LT(std::filesystem::file_size(Path("a.db-wal")), 4'000'000u);
}

TEST_F(SqliteLogTest, OneBadWriteDoesNotHurtItsBatch) {
  auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
  ASSERT_TRUE(database->Execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x UNIQUE)").ok());
  auto queue = std::make_unique<CommitQueue>(*std::move(database), nullptr);
  std::vector<StatusCode> codes;
  for (int value : {1, 1, 2}) {
    queue->Push(
        [value](Database& db) {
          return db.Execute("INSERT INTO t VALUES(" + std::to_string(value) + ")");
        },
        [&codes](const Status& status) { codes.push_back(status.code()); });
  }
  queue.reset();
  EXPECT_THAT(codes, ::testing::ElementsAre(StatusCode::kOk, StatusCode::kInvalidArgument,
                                            StatusCode::kOk));
}

TEST_F(SqliteLogTest, AcknowledgedRecordsSurviveAKill) {
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto log = OpenSqliteLog(Path("a.db"));
    if (!log.ok() || !(*log)->AddWorkload(TheWorkload()).ok()) _exit(1);
    for (int n = 0;; ++n) {
      (*log)->Append(MakeRecord(n), [&](const Result<Appended>& appended) {
        if (!appended.ok() || write(acknowledged[1], "x", 1) != 1) _exit(2);
      });
      if (n % 50 == 49) (void)(*log)->Flush();
    }
  }
  close(acknowledged[1]);
  int count = 0;
  for (char c; count < 700 && read(acknowledged[0], &c, 1) == 1;) ++count;
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (char c; read(acknowledged[0], &c, 1) == 1;) ++count;
  close(acknowledged[0]);
  EXPECT_GE(count, 700);
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE(log.ok());
  EXPECT_GE((*log)->Stats()->records, count);
}

}  // namespace
}  // namespace mlc::db
