// Snapshots, merging, verifying, JSON lines.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>
#include <map>
#include <sstream>

#include "db/json_lines.h"
#include "db/snapshot/merge.h"
#include "db/snapshot/snapshot.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/sqlite.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::HasSubstr;

class FilesTest : public LogFixture {
 protected:
  void Damage(const std::string& path) {
    auto database = Database::Open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(
        database->Execute("UPDATE record SET config='contraction/1 mr=99' WHERE id=2").ok());
  }
};

TEST_F(FilesTest, ASnapshotOfALiveLogIsClosedAndReproducible) {
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
  for (int n = 0; n < 10; ++n) ASSERT_TRUE(AppendAndWait(**log, MakeRecord(n)).ok());
  auto first = WriteSnapshot(Path("a.db"), Path("one.db"));
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  auto second = WriteSnapshot(Path("a.db"), Path("two.db"));
  EXPECT_EQ(first->content, second->content);
  EXPECT_EQ(first->records, 10);
  EXPECT_FALSE(std::filesystem::exists(Path("one.db-wal")));
  std::ifstream file(Path("one.db"), std::ios::binary);
  file.seekg(18);
  EXPECT_EQ(file.get(), 1) << "not in write-ahead mode";
  EXPECT_EQ((*OpenSqliteLogForReading(Path("one.db")))->Stats()->records, 10);
}

// Two records of one config with a long source, and one of another.
TEST_F(FilesTest, LongConfigsAreStoredOnceAndGoWhereTheirRecordsGo) {
  const auto config = [](int n) {
    return "user_kernel/1 source=" + std::string(50'000 + n / 2, 'x');
  };
  {
    auto log = OpenSqliteLog(Path("a.db"));
    ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
    for (int n = 0; n < 3; ++n) {
      Record record = MakeRecord(n);
      record.config = config(n);
      ASSERT_TRUE(AppendAndWait(**log, record).ok());
    }
  }
  EXPECT_LT(std::filesystem::file_size(Path("a.db")), 200'000u);
  ASSERT_TRUE(WriteSnapshot(Path("a.db"), Path("snapshot.db")).ok());
  ASSERT_TRUE(Merge(Path("merged.db"), Path("snapshot.db")).ok());
  std::stringstream lines;
  ASSERT_TRUE(Export(**OpenSqliteLogForReading(Path("merged.db")), lines).ok());
  ASSERT_EQ(Import(lines, **OpenSqliteLog(Path("imported.db")))->added, 3);
  for (const char* name : {"a.db", "snapshot.db", "merged.db", "imported.db"}) {
    EXPECT_THAT(VerifyLog(Path(name))->problems, ::testing::IsEmpty()) << name;
    const auto records = (*OpenSqliteLogForReading(Path(name)))->List({});
    ASSERT_TRUE(records.ok()) << records.status().ToString();
    ASSERT_EQ(records->size(), 3u);
    for (int n = 0; n < 3; ++n) EXPECT_EQ((*records)[static_cast<size_t>(n)].config, config(n));
    auto database = Database::Open(Path(name), OpenMode::kReadOnly);
    EXPECT_EQ(*database->Integer("SELECT count(*) FROM long_config"), 2) << name;
  }
  {
    auto database = Database::Open(Path("a.db"), OpenMode::kReadWrite);
    ASSERT_TRUE(database->Execute("UPDATE long_config SET text=text||'y' WHERE id=1").ok());
    ASSERT_TRUE(database->Execute("DELETE FROM long_config WHERE id=2").ok());
  }
  const auto damaged = VerifyLog(Path("a.db"));
  EXPECT_THAT(damaged->problems,
              ::testing::ElementsAre(HasSubstr("record 1 "), HasSubstr("record 2 "),
                                     HasSubstr("record 3 "), HasSubstr("no config")));
}

TEST_F(FilesTest, ASnapshotOfADamagedLogIsNotPublished) {
  Fill(Path("a.db"), 0, 3);
  std::ofstream(Path("snap.db")) << "old";
  Damage(Path("a.db"));
  auto snapshot = WriteSnapshot(Path("a.db"), Path("snap.db"));
  EXPECT_EQ(snapshot.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(snapshot.status().message(), HasSubstr("not published: record 2 "));
  EXPECT_EQ(std::filesystem::file_size(Path("snap.db")), 3u);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().string(), ::testing::Not(HasSubstr(".tmp.")));
  }
}

TEST_F(FilesTest, ALogIsNotReplacedByASnapshot) {
  Fill(Path("a.db"), 0, 3);
  Fill(Path("b.db"), 5, 3);
  std::filesystem::create_symlink("a.db", Path("link.db"));
  const auto error = [&](const std::string& to) {
    const Status status = WriteSnapshot(Path("a.db"), Path(to)).status();
    EXPECT_EQ(status.code(), StatusCode::kUnwritable) << to;
    return status.message();
  };
  EXPECT_THAT(error("a.db"), HasSubstr("it is the log itself"));
  EXPECT_THAT(error("link.db"), HasSubstr("it is the log itself"));
  EXPECT_THAT(error("b.db"), HasSubstr("it is a tuning log in use"));
  EXPECT_THAT(error("no/folder/c.db"), HasSubstr("No such file or directory"));
  EXPECT_TRUE(WriteSnapshot(Path("a.db"), Path("c.db")).ok());
  EXPECT_TRUE(WriteSnapshot(Path("b.db"), Path("c.db")).ok()) << "a snapshot gives way";
}

TEST_F(FilesTest, AnImportThatCannotBeReadIsAnError) {
  Fill(Path("a.db"), 0, 1);
  const auto log = *OpenSqliteLog(Path("a.db"));
  std::ifstream folder(folder_);
  EXPECT_EQ(Import(folder, *log).status().code(), StatusCode::kDataLoss);
}

TEST_F(FilesTest, MergingTwiceAddsOnce) {
  Fill(Path("a.db"), 0, 10);
  Fill(Path("b.db"), 5, 10);
  auto merged = Merge(Path("a.db"), Path("b.db"));
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(merged->read, 10);
  EXPECT_EQ(merged->added, 5);
  EXPECT_EQ(Merge(Path("a.db"), Path("b.db"))->added, 0);
  EXPECT_EQ((*OpenSqliteLogForReading(Path("a.db")))->Stats()->records, 15);
}

// Records first .. first+count-1 of a target, `scale` times as long as usual.
void FillTarget(const std::string& path, const std::string& target, int count, double scale) {
  const auto log = *OpenSqliteLog(path);
  const std::string text = "workload v1 of tests";
  const WorkloadRow row = {mlc::DigestOf(std::string_view(text)), text, "matmul 8x8x8"};
  ASSERT_TRUE(log->AddWorkload(row).ok());
  for (int n = 0; n < count; ++n) {
    Record record;
    record.task_uid = mlc::DigestOf(path + target + std::to_string(n));
    record.workload = row.key;
    record.target = target;
    record.config = "contraction/1 mr=" + std::to_string(n);
    record.measurement.outcome = Outcome::kOk;
    record.measurement.median_ns = scale * (100 + n);
    record.measurement.p10_ns = record.measurement.p90_ns = record.measurement.median_ns;
    record.measurement.runs = 9;
    record.arm = "seed";
    record.created_us = 1'000'000 + n;
    log->Append(record, [](const auto&) {});
  }
  ASSERT_TRUE(log->Flush().ok());
}

TEST_F(FilesTest, AMergeTakesTheTargetsOnWhichTheLogsAgree) {
  for (const char* target : {"cpu same", "cpu slow", "cpu few"}) {
    FillTarget(Path("a.db"), target, 20, 1);
  }
  FillTarget(Path("b.db"), "cpu same", 30, 1.04);
  FillTarget(Path("b.db"), "cpu slow", 30, 1.5);
  FillTarget(Path("b.db"), "cpu few", 7, 1);
  FillTarget(Path("b.db"), "cpu unknown", 5, 1);
  const auto merged = Merge(Path("a.db"), Path("b.db"), Trust::kAgreeing);
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(merged->read, 72);
  EXPECT_EQ(merged->added, 30);
  std::map<std::string, MergedTarget> by_name;
  for (const MergedTarget& target : merged->targets) by_name[target.target] = target;
  ASSERT_EQ(by_name.size(), 4u);
  EXPECT_TRUE(by_name["cpu same"].taken);
  EXPECT_NEAR(by_name["cpu same"].agreement.ratio, 1.04, 1e-9);
  EXPECT_EQ(by_name["cpu same"].agreement.common, 20);
  EXPECT_FALSE(by_name["cpu slow"].taken);
  EXPECT_NEAR(by_name["cpu slow"].agreement.ratio, 1.5, 1e-9);
  EXPECT_FALSE(by_name["cpu few"].taken);
  EXPECT_EQ(by_name["cpu unknown"].agreement.common, 0);
  EXPECT_FALSE(by_name["cpu unknown"].taken);
  EXPECT_EQ(Merge(Path("a.db"), Path("b.db"))->added, 42) << "the rest, where all are trusted";
}

TEST_F(FilesTest, MergingADamagedLogChangesNothing) {
  Fill(Path("a.db"), 0, 1);
  Fill(Path("b.db"), 10, 5);
  Damage(Path("b.db"));
  auto merged = Merge(Path("a.db"), Path("b.db"));
  EXPECT_EQ(merged.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(merged.status().message(), HasSubstr("nothing merged"));
  EXPECT_EQ((*OpenSqliteLogForReading(Path("a.db")))->Stats()->records, 1);
}

TEST_F(FilesTest, VerifyNamesDamage) {
  Fill(Path("a.db"), 0, 5);
  auto sound = VerifyLog(Path("a.db"));
  ASSERT_TRUE(sound.ok());
  EXPECT_EQ(sound->records, 5);
  EXPECT_TRUE(sound->problems.empty());
  Damage(Path("a.db"));
  auto damaged = VerifyLog(Path("a.db"));
  ASSERT_EQ(damaged->problems.size(), 1u);
  EXPECT_THAT(damaged->problems.front(), HasSubstr("record 2 "));
}

// Pages of a kind that hold these bytes get others in their place.
void ChangeInPages(const std::string& path, char kind, const std::string& bytes) {
  constexpr size_t kPage = 4096;
  std::ifstream in(path, std::ios::binary);
  std::string file((std::istreambuf_iterator<char>(in)), {});
  int changed = 0;
  for (size_t page = kPage; page < file.size(); page += kPage) {
    const size_t at = file.find(bytes, page);
    if (file[page] != kind || at == std::string::npos || at >= page + kPage) continue;
    file[at + bytes.size() - 1] = static_cast<char>(file[at + bytes.size() - 1] ^ 1);
    ++changed;
  }
  ASSERT_EQ(changed, 1);
  std::ofstream(path, std::ios::binary) << file;
}

TEST_F(FilesTest, VerifyNamesAnIndexThatIsNotOfItsTable) {
  Fill(Path("a.db"), 0, 5);
  const auto uid = MakeRecord(3).task_uid.ToBytes();
  constexpr char kIndexLeaf = 10;
  // After the types of an entry of two columns: 16 bytes, and a small number.
  const std::string entry = "\x2c\x01" + std::string(uid.begin(), uid.end());
  ChangeInPages(Path("a.db"), kIndexLeaf, entry);
  auto damaged = VerifyLog(Path("a.db"));
  ASSERT_TRUE(damaged.ok()) << damaged.status().ToString();
  ASSERT_EQ(damaged->problems.size(), 1u);
  EXPECT_THAT(damaged->problems.front(), HasSubstr("structure: "));
  EXPECT_THAT(damaged->problems.front(), HasSubstr("index sqlite_autoindex_record_1"));
  EXPECT_EQ(WriteSnapshot(Path("a.db"), Path("snap.db")).status().code(), StatusCode::kDataLoss);
}

TEST_F(FilesTest, VerifyNamesAnIndexOfConfirmationsThatHoldsOthers) {
  Fill(Path("a.db"), 0, 5);
  // Made over all correct records; then it says that it is the index over confirmations.
  constexpr char kDamage[] =
      "DROP INDEX record_confirmed;"
      "CREATE INDEX record_confirmed ON record(workload, target, created_us, task_uid)"
      " WHERE outcome=0;"
      "PRAGMA writable_schema=ON;"
      "UPDATE sqlite_schema SET sql=replace(sql, 'outcome=0', 'outcome=0 AND arm=''verify''')"
      " WHERE name='record_confirmed'";
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(Path("a.db").c_str(), &file), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(file, kDamage, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(file);
  sqlite3_close(file);
  auto damaged = VerifyLog(Path("a.db"));
  ASSERT_TRUE(damaged.ok()) << damaged.status().ToString();
  ASSERT_EQ(damaged->problems.size(), 1u);
  EXPECT_THAT(damaged->problems.front(), HasSubstr("index record_confirmed has 5 entries"));
}

TEST_F(FilesTest, OnlyASnapshotCountsAsPublished) {
  Fill(Path("a.db"), 0, 5);
  EXPECT_FALSE(IsPublished(Path("a.db")));
  ASSERT_TRUE(WriteSnapshot(Path("a.db"), Path("snap.db")).ok());
  EXPECT_TRUE(IsPublished(Path("snap.db")));
  EXPECT_FALSE(IsPublished(Path("absent.db")));
  // A program goes on with it as with a log.
  Fill(Path("snap.db"), 5, 1);
  EXPECT_FALSE(IsPublished(Path("snap.db")));
  EXPECT_EQ((*OpenSqliteLogForReading(Path("snap.db")))->Stats()->records, 6);
}

TEST_F(FilesTest, ExportImportExportIsTheSameText) {
  Fill(Path("a.db"), 0, 20);
  auto log = OpenSqliteLogForReading(Path("a.db"));
  std::stringstream text;
  ASSERT_TRUE(Export(**log, text).ok());
  auto copy = MakeMemoryLog();
  auto counts = Import(text, *copy);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_EQ(counts->added, 20);
  EXPECT_EQ(counts->workloads, 1);
  std::ostringstream again;
  ASSERT_TRUE(Export(*copy, again).ok());
  EXPECT_EQ(text.str(), again.str());
  std::stringstream same(again.str());
  EXPECT_EQ(Import(same, *copy)->duplicates, 20);
}

TEST_F(FilesTest, ImportRefusesDamageWithTheLine) {
  auto log = MakeMemoryLog();
  auto import = [&log](const std::string& text) {
    std::stringstream in(text);
    return Import(in, *log).status();
  };
  const std::string workload = ToJsonLine(TheWorkload()) + "\n";
  std::string record = ToJsonLine(MakeRecord(1)) + "\n";
  EXPECT_TRUE(import(workload + record).ok());
  record.replace(record.find("\"runs\":9"), 8, "\"runs\":8");
  Status status = import(workload + record);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("line 2"));
  for (const char* number : {"1e30", "8.5", "2147483648", "-1e99", "null"}) {
    std::string odd = ToJsonLine(MakeRecord(1));
    odd.replace(odd.find("\"runs\":9"), 8, std::string("\"runs\":") + number);
    status = import(workload + odd);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << number;
    EXPECT_THAT(status.message(), HasSubstr("'runs' is not a whole number in its range"));
  }
  std::string newer = ToJsonLine(TheWorkload());
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_EQ(import(workload + newer),
            FailedPrecondition("line 2: the line is of version 2, this program reads version 1: "
                               "use the mlc-log of the release that wrote it"));
  EXPECT_EQ(import("{\"kind\":\"record\"}"),
            InvalidArgument("line 1: the line does not tell its version"));
  EXPECT_EQ(import("{\"kind\":\"x\",\"version\":1}"), InvalidArgument("line 1: unknown kind 'x'"));
  EXPECT_EQ(import("{").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(import("{\"kind\":\"x\"}").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(import("{\"kind\":7}").code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::db
