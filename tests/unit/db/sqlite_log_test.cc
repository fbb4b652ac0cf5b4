// What only a file can do: locks, versions, full disks, damage.
#include "db/sqlite_log.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>

#include "db/commit_queue.h"
#include "db/file_lock.h"
#include "db/schema.h"
#include "db/sqlite.h"
#include "db/verify.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::HasSubstr;

Result<std::unique_ptr<TuningLog>> OpenForWriting(const std::string& path) {
  return OpenSqliteLog(path);
}

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

TEST_F(SqliteLogTest, RefusesNewerForeignAndBrokenFiles) {
  Fill(Path("newer.db"), 0, 1);
  {
    auto database = Database::Open(Path("newer.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(database->Execute("PRAGMA user_version=99").ok());
  }
  for (auto open : {OpenForWriting, OpenSqliteLogForReading}) {
    auto newer = open(Path("newer.db"));
    EXPECT_EQ(newer.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(newer.status().message(), HasSubstr("from a newer mlc-tune (schema 99"));
  }
  {
    auto database = Database::Open(Path("foreign.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(database->Execute("CREATE TABLE t(x)").ok());
  }
  EXPECT_THAT(OpenSqliteLog(Path("foreign.db")).status().message(), HasSubstr("not a tuning log"));
  std::ofstream(Path("broken.db")) << std::string(5000, 'x');
  EXPECT_EQ(OpenSqliteLog(Path("broken.db")).status().code(), StatusCode::kDataLoss);
}

// Whoever makes a file may leave out the checks.
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

TEST_F(SqliteLogTest, TablesOfAnotherVersionThanItSaysAreDamage) {
  Fill(Path("a.db"), 0, 1);
  {
    auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(database->Execute("PRAGMA user_version=1").ok());
  }
  EXPECT_EQ(OpenSqliteLog(Path("a.db")).status().code(), StatusCode::kDataLoss);
}

TEST_F(SqliteLogTest, MigratesStepByStepAfterABackup) {
  Fill(Path("a.db"), 0, 3);
  const int now = kSchemaVersion;
  const Migration steps[] = {{now, "ALTER TABLE workload ADD COLUMN first TEXT"},
                             {now + 1, "ALTER TABLE workload ADD COLUMN second TEXT"}};
  auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
  ASSERT_TRUE(PrepareSchema(*database, Path("a.db"), steps, now + 2).ok());
  EXPECT_EQ(*database->Integer("PRAGMA user_version"), now + 2);
  EXPECT_EQ(*database->Integer("SELECT count(first) + count(second) FROM workload"), 0);
  auto backup = OpenSqliteLogForReading(Path("a.db.v" + std::to_string(now) + ".bak"));
  ASSERT_TRUE(backup.ok()) << backup.status().ToString();
  EXPECT_EQ((*backup)->Stats()->records, 3);
}

TEST_F(SqliteLogTest, AFailedStepLeavesTheOldVersion) {
  Fill(Path("a.db"), 0, 3);
  const int now = kSchemaVersion;
  const Migration steps[] = {{now, "ALTER TABLE workload ADD COLUMN ok TEXT; SELECT nonsense"}};
  auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
  EXPECT_FALSE(PrepareSchema(*database, Path("a.db"), steps, now + 1).ok());
  EXPECT_EQ(*database->Integer("PRAGMA user_version"), now);
  EXPECT_FALSE(database->Integer("SELECT count(ok) FROM workload").ok());
}

TEST_F(SqliteLogTest, OpensTheGoldenFilesOfAllVersions) {
  for (const std::string name : {"v1.db", "v2.db", "v3.db", "v4.db", "v5.db", "v6.db"}) {
    std::filesystem::copy_file(std::string(MLC_SOURCE_DIR) + "/tests/unit/db/testdata/" + name,
                               Path(name));
    EXPECT_THAT(VerifyLog(Path(name))->problems, ::testing::IsEmpty());
    // Readers take a file as it is; the writer migrates it.
    for (auto open : {OpenSqliteLogForReading, OpenForWriting}) {
      auto log = open(Path(name));
      ASSERT_TRUE(log.ok()) << log.status().ToString();
      auto best = (*log)->Best(TheWorkload().key, "cpu", 1);
      ASSERT_TRUE(best.ok()) << best.status().ToString();
      ASSERT_EQ(best->size(), 1u);
      EXPECT_EQ(best->front().config, "contraction/1 mr=2");
      ASSERT_EQ((*log)->Jobs()->size(), 1u);
      EXPECT_EQ((*log)->Jobs()->front().owner, name >= "v3.db" ? "ada" : "");
      EXPECT_EQ((*log)->Jobs()->front().priority, name >= "v3.db" ? 5 : 0);
      EXPECT_EQ((*log)->Jobs()->front().crashes, name >= "v6.db" ? 2 : 0);
      EXPECT_EQ((*log)->Models("cpu")->size(), 1u);
      EXPECT_EQ((*log)->Stats()->models, 1);
      EXPECT_EQ((*log)->Holds()->size(), name >= "v4.db" ? 1u : 0u);
      const auto records = (*log)->List({});
      ASSERT_TRUE(records.ok()) << records.status().ToString();
      EXPECT_EQ(records->back().config.size(), name >= "v5.db" ? 9018u : 18u);
    }
    EXPECT_EQ((*OpenSqliteLogForReading(Path(name)))->Stats()->schema_version, kSchemaVersion);
  }
}

// Only of fresh jobs, whose ids are salted, does the log not know what they asked for.
TEST_F(SqliteLogTest, MigratedJobsAreFoundByWhatTheyAskFor) {
  std::filesystem::copy_file(std::string(MLC_SOURCE_DIR) + "/tests/unit/db/testdata/v5.db",
                             Path("v5.db"));
  {
    auto old = Database::Open(Path("v5.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(old->Execute("INSERT INTO job(id, label, target, options, state, trials, watermark,"
                             " detail, created_us) SELECT randomblob(16), label, target,"
                             " '{\"trials\":4,\"use_history\":false}', state, trials, watermark,"
                             " detail, created_us FROM job")
                    .ok());
  }
  auto log = OpenSqliteLog(Path("v5.db"));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  int fresh = 0, usual = 0;
  for (const JobRow& job : *(*log)->Jobs()) {
    const bool is_fresh = job.options.find("false") != std::string::npos;
    EXPECT_EQ(job.base, is_fresh ? Digest() : job.id);
    ++(is_fresh ? fresh : usual);
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(usual, 1);
}

// A migrated file has the tables and columns of a new one, in the same order.
TEST_F(SqliteLogTest, MigratedFilesHaveTheSchemaOfNewOnes) {
  const auto columns = [](const std::string& path) {
    auto database = Database::Open(path, OpenMode::kReadOnly);
    Statement query = *database->Prepare(
        "SELECT m.name, c.name, c.type, c.\"notnull\" FROM sqlite_schema m"
        " JOIN pragma_table_info(m.name) c WHERE m.type='table' ORDER BY m.name, c.cid");
    std::string text;
    while (*query.Step()) {
      text +=
          query.Text(0) + "." + query.Text(1) + " " + query.Text(2) + " " + query.Text(3) + "\n";
    }
    Statement indices =
        *database->Prepare("SELECT name FROM sqlite_schema WHERE type='index' ORDER BY name");
    while (*indices.Step()) text += indices.Text(0) + "\n";
    return text;
  };
  Fill(Path("new.db"), 0, 1);
  for (const std::string name : {"v1.db", "v2.db", "v3.db", "v4.db", "v5.db", "v6.db"}) {
    std::filesystem::copy_file(std::string(MLC_SOURCE_DIR) + "/tests/unit/db/testdata/" + name,
                               Path(name));
    ASSERT_TRUE(OpenSqliteLog(Path(name)).ok());
    EXPECT_EQ(columns(Path(name)), columns(Path("new.db"))) << name;
  }
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

// Whoever waits for a commit waits for a checkpoint at most as long as that.
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
