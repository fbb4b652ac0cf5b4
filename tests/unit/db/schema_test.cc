// Versions of the log's file. Tests bring chains of their own, from a version 0 that never was to
// versions to come.
#include "db/sqlite/schema.h"

#include <gmock/gmock.h>

#include <fstream>

#include "db/record_fields.h"
#include "db/sqlite/sqlite.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::HasSubstr;

constexpr int kNow = kSchemaVersion;
const Migration kToNow = {kNow - 1, "ALTER TABLE before RENAME TO now"};
const Migration kToNext = {kNow, "ALTER TABLE now ADD COLUMN next TEXT"};
const Migration kToLast = {kNow + 1, "ALTER TABLE now ADD COLUMN last TEXT"};
const Migration kChain[] = {kToNow, kToNext, kToLast};

Result<std::unique_ptr<TuningLog>> OpenForWriting(const std::string& path) {
  return OpenSqliteLog(path);
}

class SchemaTest : public LogFixture {
 protected:
  Database Open(const std::string& name) {
    return *Database::Open(Path(name), OpenMode::kReadWrite);
  }
  // A log that says it is of `version`, with one row in a table called `table`.
  Database Synthetic(const std::string& name, int version, const std::string& table) {
    Database database = Open(name);
    EXPECT_TRUE(database
                    .Execute("PRAGMA application_id=" + std::to_string(kApplicationId) +
                             ";PRAGMA user_version=" + std::to_string(version) + ";CREATE TABLE " +
                             table + "(x);INSERT INTO " + table + " VALUES(7)")
                    .ok());
    return database;
  }
  static int64_t VersionOf(Database& database) { return *database.Integer("PRAGMA user_version"); }
};

TEST_F(SchemaTest, ANewFileIsOfTheCurrentVersion) {
  Database database = Open("a.db");
  ASSERT_TRUE(PrepareSchema(database, Path("a.db")).ok());
  EXPECT_EQ(VersionOf(database), kSchemaVersion);
  EXPECT_EQ(*database.Integer("PRAGMA application_id"), kApplicationId);
  EXPECT_TRUE(CheckSchema(database, Path("a.db")).ok());
  EXPECT_TRUE(PrepareSchema(database, Path("a.db")).ok()) << "the second time it is there";
  EXPECT_FALSE(std::filesystem::exists(Path("a.db.v1.bak")));
}

TEST_F(SchemaTest, RecordsHaveTheColumnsOfTheTables) {
  Database database = Open("a.db");
  ASSERT_TRUE(PrepareSchema(database, Path("a.db")).ok());
  std::vector<std::string> columns = {"id", "family", "family_version", "digest"};
  const Record record;
  VisitFields(record,
              [&](const FieldInfo& field, const auto&) { columns.emplace_back(field.name); });
  Statement query = *database.Prepare("SELECT name FROM pragma_table_info('record')");
  std::vector<std::string> found;
  while (*query.Step()) found.push_back(query.Text(0));
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(columns));
}

TEST_F(SchemaTest, AnOlderFileGoesThroughEveryStepAfterABackup) {
  Database database = Synthetic("a.db", kNow - 1, "before");
  const Status status = PrepareSchema(database, Path("a.db"), kChain, kNow + 2);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(VersionOf(database), kNow + 2);
  EXPECT_EQ(*database.Integer("SELECT x FROM now WHERE next IS NULL AND last IS NULL"), 7);
  Database backup = Open("a.db.v" + std::to_string(kNow - 1) + ".bak");
  EXPECT_EQ(VersionOf(backup), kNow - 1);
  EXPECT_EQ(*backup.Integer("SELECT x FROM before"), 7);
}

TEST_F(SchemaTest, OnlyTheStepsThatAFileLacksAreTaken) {
  Database middle = Synthetic("a.db", kNow, "now");
  ASSERT_TRUE(PrepareSchema(middle, Path("a.db"), kChain, kNow + 1).ok());
  EXPECT_EQ(VersionOf(middle), kNow + 1);
  EXPECT_EQ(*middle.Integer("SELECT count(next) FROM now"), 0);
  EXPECT_FALSE(middle.Integer("SELECT count(last) FROM now").ok());
}

TEST_F(SchemaTest, RecordsSurviveAMigration) {
  Fill(Path("a.db"), 0, 3);
  const Migration steps[] = {{kNow, "ALTER TABLE workload ADD COLUMN first TEXT"},
                             {kNow + 1, "ALTER TABLE workload ADD COLUMN second TEXT"}};
  Database database = Open("a.db");
  ASSERT_TRUE(PrepareSchema(database, Path("a.db"), steps, kNow + 2).ok());
  EXPECT_EQ(*database.Integer("SELECT count(first) + count(second) FROM workload"), 0);
  EXPECT_EQ(*database.Integer("SELECT count(*) FROM record"), 3);
  auto backup = OpenSqliteLogForReading(Path("a.db.v" + std::to_string(kNow) + ".bak"));
  ASSERT_TRUE(backup.ok()) << backup.status().ToString();
  EXPECT_EQ((*backup)->Stats()->records, 3);
}

TEST_F(SchemaTest, AStepThatFailsInTheMiddleLeavesTheFileAsItWas) {
  Database database = Synthetic("a.db", kNow - 1, "before");
  const Migration steps[] = {
      kToNow, {kNow, "ALTER TABLE now ADD COLUMN next TEXT; SELECT nonsense"}, kToLast};
  const Status failed = PrepareSchema(database, Path("a.db"), steps, kNow + 2);
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(failed.message(),
              HasSubstr("migration of the tuning log from schema " + std::to_string(kNow)));
  EXPECT_THAT(failed.message(), HasSubstr("nonsense"));
  EXPECT_EQ(VersionOf(database), kNow - 1);
  EXPECT_EQ(*database.Integer("SELECT x FROM before"), 7);
  EXPECT_FALSE(database.Integer("SELECT count(*) FROM now").ok());
  EXPECT_TRUE(database.InAutocommit());
  // With a program that has mended the step it goes on.
  EXPECT_TRUE(PrepareSchema(database, Path("a.db"), kChain, kNow + 2).ok());
  EXPECT_EQ(VersionOf(database), kNow + 2);
}

TEST_F(SchemaTest, AFileWithoutAWayToTheCurrentVersionIsRefusedUntouched) {
  Database database = Synthetic("a.db", kNow - 1, "before");
  const Migration gap[] = {kToNow, kToLast};
  for (const Status& refused : {PrepareSchema(database, Path("a.db"), {}),
                                PrepareSchema(database, Path("a.db"), gap, kNow + 2),
                                PrepareSchema(database, Path("a.db"), kChain, kNow + 3)}) {
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("has schema " + std::to_string(kNow - 1) +
                                             ", from which this program has no migration to"));
    EXPECT_THAT(refused.message(), HasSubstr("use the version that wrote it, or another --log"));
  }
  EXPECT_EQ(VersionOf(database), kNow - 1);
  EXPECT_FALSE(std::filesystem::exists(Path("a.db.v" + std::to_string(kNow - 1) + ".bak")));
}

TEST_F(SchemaTest, ANewerFileIsRefusedWithBothVersions) {
  Fill(Path("newer.db"), 0, 1);
  ASSERT_TRUE(Open("newer.db").Execute("PRAGMA user_version=" + std::to_string(kNow + 1)).ok());
  for (auto open : {OpenForWriting, OpenSqliteLogForReading}) {
    const Status newer = open(Path("newer.db")).status();
    EXPECT_EQ(newer.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(newer.message(),
                HasSubstr("from a newer mlc-tune (schema " + std::to_string(kNow + 1) +
                          ", this program knows " + std::to_string(kNow) +
                          "): use that version, or another --log"));
  }
  Database later = Synthetic("later.db", kNow + 3, "now");
  EXPECT_EQ(PrepareSchema(later, Path("later.db"), kChain, kNow + 2).code(),
            StatusCode::kFailedPrecondition)
      << "whatever the chain, no step leads back";
}

// Readers cannot migrate.
TEST_F(SchemaTest, ReadersOfTheNextVersionRefuseTheFileOfThisOne) {
  Fill(Path("a.db"), 0, 1);
  Database database = Open("a.db");
  EXPECT_TRUE(CheckSchema(database, Path("a.db")).ok());
  const Status older = CheckSchema(database, Path("a.db"), kNow + 1);
  EXPECT_EQ(older.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(older.message(),
              HasSubstr("has the older schema " + std::to_string(kNow) + ", this program reads " +
                        std::to_string(kNow + 1) +
                        ": open it once with mlc-log merge or mlc-server to migrate it"));
}

TEST_F(SchemaTest, AFileThatIsNoLogIsRefused) {
  ASSERT_TRUE(Open("foreign.db").Execute("CREATE TABLE t(x)").ok());
  for (auto open : {OpenForWriting, OpenSqliteLogForReading}) {
    const Status foreign = open(Path("foreign.db")).status();
    EXPECT_EQ(foreign.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(foreign.message(), HasSubstr("is an SQLite file but not a tuning log"));
  }
  std::ofstream(Path("broken.db")) << std::string(5000, 'x');
  EXPECT_EQ(OpenSqliteLog(Path("broken.db")).status().code(), StatusCode::kDataLoss);
}

TEST_F(SchemaTest, TablesOfAnotherVersionThanItSaysAreDamage) {
  Database database = Synthetic("a.db", kNow, "now");
  EXPECT_EQ(PrepareSchema(database, Path("a.db"), kChain, kNow + 2).code(), StatusCode::kOk);
  Database wrong = Synthetic("b.db", kNow - 1, "now");
  EXPECT_EQ(PrepareSchema(wrong, Path("b.db"), kChain, kNow).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace mlc::db
