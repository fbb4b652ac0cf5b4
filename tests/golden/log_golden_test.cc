// The file of a log, as SQL: what this program writes, and that it reads what it wrote when the
// version was released.
#include <gtest/gtest.h>

#include <string>

#include "db/snapshot/verify.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/golden/golden.h"
#include "tests/temporary_folder.h"

namespace mlc::golden {
namespace {

constexpr char kHint[] =
    "The files of a released version do not change: a new one gets a number, a migration and a "
    "golden file (docs/reference/log-schema.md).";

std::string Golden(int version) { return "tests/golden/log/v" + std::to_string(version) + ".sql"; }

db::WorkloadRow TheWorkload() {
  const std::string text = "workload v1 of tests";
  return {DigestOf(std::string_view(text)), text, "matmul 8x8x8"};
}

db::Record MakeRecord(int n, double median, const std::string& config, const std::string& arm) {
  db::Record record;
  record.task_uid = DigestOf("uid " + std::to_string(n));
  record.job_id = Digest{1, 2};
  record.workload = TheWorkload().key;
  record.target = "cpu";
  record.config = config;
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = record.measurement.p10_ns = median;
  record.measurement.p90_ns = median + 1;
  record.measurement.runs = 9;
  record.measurement.clock_mhz = 3400;
  record.measurement.machine_speed = 0.75;
  record.measurement.device_ms = 125;
  record.toolchain = "llvm";
  record.worker = "cpu0";
  record.arm = arm;
  record.predicted_rank = n;
  record.seed = 5;
  record.created_us = 1'000'000 + n;
  return record;
}

std::string LongConfig() {
  std::string config = "user_kernel/1 source=";
  for (int line = 0; config.size() < 9000; ++line) config += "line" + std::to_string(line % 10);
  return config;
}

// One row in every table at least.
void FillLog(const std::string& path) {
  auto log = db::OpenSqliteLog(path);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
  db::Record failed = MakeRecord(3, 0, "contraction/1 mr=3", "seed");
  failed.measurement = {};
  failed.measurement.outcome = Outcome::kRunError;
  failed.measurement.detail = "it's signal 11";
  for (const db::Record& record : {MakeRecord(1, 100, "contraction/1 mr=1", "seed"),
                                   MakeRecord(2, 90.5, "contraction/1 mr=2", "verify"), failed,
                                   MakeRecord(4, 200, LongConfig(), "given")}) {
    const auto appended = AppendAndWait(**log, record);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }
  db::JobRow job;
  job.id = Digest{1, 2};
  job.label = "model";
  job.target = "cpu";
  job.options = "{}";
  job.owner = "ada";
  job.priority = 5;
  job.changed_us = 7;
  job.progress = "{}";
  job.base = job.id;
  job.crashes = 2;
  job.tasks = {{TheWorkload().key, 2, "conv"}};
  ASSERT_TRUE((*log)->PutJob(job).ok());
  ASSERT_TRUE((*log)->SaveModel({"contraction", "cpu", Digest{3, 4}, "bytes", 7}).ok());
  ASSERT_TRUE((*log)->PutAdminHold({"gpu-07", "fan broken", "", "", 1'700'000'000'000'000}).ok());
  ASSERT_TRUE((*log)->Flush().ok());
}

std::vector<std::string> Texts(db::Database& database, const std::string& sql) {
  db::Statement query = *database.Prepare(sql);
  std::vector<std::string> texts;
  while (*query.Step()) texts.push_back(query.Text(0));
  return texts;
}

// As statements that make the same file again: tables, their rows, indexes.
std::string DumpOf(const std::string& path) {
  db::Database database = *db::Database::Open(path, db::OpenMode::kReadOnly);
  std::string text;
  for (const char* pragma : {"application_id", "user_version"}) {
    text += std::string("PRAGMA ") + pragma + "=" +
            std::to_string(*database.Integer(std::string("PRAGMA ") + pragma)) + ";\n";
  }
  const std::string of = " FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'";
  for (const std::string& name :
       Texts(database, "SELECT name" + of + " AND type='table' ORDER BY rowid")) {
    text += Texts(database, "SELECT sql FROM sqlite_schema WHERE name='" + name + "'")[0] + ";\n";
    std::string values;
    for (const std::string& column :
         Texts(database, "SELECT name FROM pragma_table_info('" + name + "') ORDER BY cid")) {
      values += (values.empty() ? "" : "||','||") + ("quote(\"" + column + "\")");
    }
    for (const std::string& row : Texts(database, "SELECT " + values + " FROM " + name)) {
      text += "INSERT INTO " + name + " VALUES(" + row + ");\n";
    }
  }
  for (const std::string& sql :
       Texts(database, "SELECT sql" + of + " AND type='index' ORDER BY rowid")) {
    text += sql + ";\n";
  }
  return text;
}

TEST(LogFileTest, AnUnchangedVersionHasUnchangedFiles) {
  const tests::TemporaryFolder folder;
  FillLog(folder.path("a.db"));
  Check(Golden(db::kSchemaVersion), DumpOf(folder.path("a.db")), kHint);
}

void ExpectAllOf(db::TuningLog& log) {
  const auto best = log.Best(TheWorkload().key, "cpu", 1);
  ASSERT_TRUE(best.ok()) << best.status().ToString();
  ASSERT_EQ(best->size(), 1u);
  EXPECT_EQ(best->front().config, "contraction/1 mr=2");
  EXPECT_EQ(log.Confirmations(TheWorkload().key, "cpu")->size(), 1u);
  EXPECT_EQ(log.List({})->back().config, LongConfig());
  const auto jobs = log.Jobs();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().owner, "ada");
  EXPECT_EQ(jobs->front().crashes, 2);
  EXPECT_EQ(jobs->front().tasks.size(), 1u);
  EXPECT_EQ(log.Models("cpu")->size(), 1u);
  EXPECT_EQ(log.AdminHolds()->size(), 1u);
  EXPECT_EQ(log.Stats()->schema_version, db::kSchemaVersion);
}

class LogGoldenTest : public ::testing::TestWithParam<int> {};

TEST_P(LogGoldenTest, TheFileOfEachVersionOpensAndIsSound) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("golden.db");
  {
    const Status made =
        db::Database::Open(path, db::OpenMode::kReadWrite)->Execute(Read(Golden(GetParam())));
    ASSERT_TRUE(made.ok()) << made.ToString();
  }
  EXPECT_EQ(db::OpenSqliteLogForReading(path).status().code(),
            GetParam() == db::kSchemaVersion ? StatusCode::kOk : StatusCode::kFailedPrecondition);
  for (const bool writing : {true, false}) {
    auto log = writing ? db::OpenSqliteLog(path) : db::OpenSqliteLogForReading(path);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    ExpectAllOf(**log);
  }
  const auto report = db::VerifyLog(path);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->problems.empty()) << report->problems[0];
}

INSTANTIATE_TEST_SUITE_P(Versions, LogGoldenTest, ::testing::Range(1, db::kSchemaVersion + 1));

}  // namespace
}  // namespace mlc::golden
