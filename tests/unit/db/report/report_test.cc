#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "db/report/latency_curve.h"
#include "db/report/tuning_data.h"
#include "db/report/write_report.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/unit/db/report/tuning_log_fixture.h"

namespace mlc::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() : folder_(::testing::TempDir() + "/mlc-report"), log_(folder_ + "/a.db") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }

  db::JobRow Write(const TuningLogOptions& options) {
    const Result<db::JobRow> job = WriteTuningLog(log_, options);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return *job;
  }
  Result<TuningData> Read(const JobChoice& choice) {
    return ReadTuning(**db::OpenSqliteLogForReading(log_), choice);
  }

  std::string folder_;
  std::string log_;
};

TEST_F(ReportTest, ReadsWhatTheJobFound) {
  Write({});
  const Result<TuningData> data = Read({});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  ASSERT_EQ(data->tasks.size(), 2u);
  EXPECT_EQ(data->tasks[0].records.size(), 20u);
  EXPECT_DOUBLE_EQ(data->tasks[0].BeforeNs(), 9000);
  EXPECT_DOUBLE_EQ(data->tasks[0].BestNs(), 3000);
  EXPECT_DOUBLE_EQ(data->before_ns, 4 * 9000);
  EXPECT_DOUBLE_EQ(data->best_ns(), 4 * 3000);
  EXPECT_DOUBLE_EQ(data->ShareAfter(data->tasks[1]), 0.75);
  EXPECT_DOUBLE_EQ(data->tasks[0].roofline_ns, 2.0 * 64 * 128 * 96 / 100);
}

TEST_F(ReportTest, TheGainIsTheOneOfTheCurve) {
  Write({});
  {
    const std::unique_ptr<db::TuningLog> log = *db::OpenSqliteLog(log_);
    const Result<TuningData> data = Read({});
    ASSERT_TRUE(data.ok());
    db::Record confirmation = *data->tasks[0].chosen;
    confirmation.task_uid = DigestOf(std::string_view("a confirmation"));
    confirmation.arm = db::kConfirmationArm;
    Measurement& m = confirmation.measurement;
    for (double* ns : {&m.p10_ns, &m.median_ns, &m.p90_ns}) *ns *= 1.5;
    ASSERT_TRUE(db::AppendAndWait(*log, confirmation).ok());
  }
  const Result<TuningData> data = Read({});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_GT(data->tasks[0].BeforeNs(), 9000) << "as if it were confirmed";
  EXPECT_DOUBLE_EQ(data->before_ns, LatencyCurve(*data).front().ns);
  EXPECT_DOUBLE_EQ(data->best_ns(), LatencyCurve(*data).back().ns);
}

TEST_F(ReportTest, TheFastestVariantCounts) {
  db::JobRow job = Write({});
  job.options = R"({"variants":[{"name":"a","uses":[1,3]},{"name":"b","uses":[2,0]}]})";
  ASSERT_TRUE((*db::OpenSqliteLog(log_))->PutJob(job).ok());
  const Result<TuningData> data = Read({});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->fastest, 1u);
  EXPECT_DOUBLE_EQ(data->best_ns(), 6000);
  EXPECT_DOUBLE_EQ(data->before_ns, 4 * 9000) << "the usual variant is what is built untuned";
  EXPECT_DOUBLE_EQ(data->ShareAfter(data->tasks[1]), 0);
}

TEST_F(ReportTest, OptionsThatCannotBeReadMeanOneVariant) {
  db::JobRow job = Write({});
  for (const char* options : {"", "[", R"({"variants":[{"uses":[1]}]})",
                              R"({"variants":[{"uses":["x",1]}]})", R"({"variants":7})"}) {
    job.options = options;
    ASSERT_TRUE((*db::OpenSqliteLog(log_))->PutJob(job).ok());
    const Result<TuningData> data = Read({});
    ASSERT_TRUE(data.ok()) << data.status().ToString();
    EXPECT_EQ(data->variants.size(), 1u);
    EXPECT_DOUBLE_EQ(data->best_ns(), 4 * 3000);
  }
}

TEST_F(ReportTest, AJobIsFoundByItsIdOrItsModel) {
  const std::string id = Write({}).id.ToText();
  EXPECT_TRUE(Read({id, ""}).ok());
  EXPECT_TRUE(Read({id.substr(0, 6), ""}).ok());
  EXPECT_TRUE(Read({"", "model.onnx"}).ok());
  for (const JobChoice& choice : {JobChoice{"0123456789", ""}, JobChoice{"", "other.onnx"}}) {
    EXPECT_EQ(Read(choice).status().code(), StatusCode::kNotFound);
    EXPECT_THAT(Read(choice).status().message(), HasSubstr(choice.job + choice.model));
  }
}

TEST_F(ReportTest, SaysWhichJobsAnIdIsNotEnoughFor) {
  db::JobRow job = Write({});
  job.id.low += 1;
  ASSERT_TRUE((*db::OpenSqliteLog(log_))->PutJob(job).ok());
  EXPECT_EQ(Read({job.id.ToText().substr(0, 4), ""}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Read({"", "model.onnx"}).ok()) << "the newest of the model";
}

TEST_F(ReportTest, ALogWithoutAJobOrARecordSaysSo) {
  const std::string out = folder_ + "/report.html";
  EXPECT_EQ(WriteReport(log_, {}, out).code(), StatusCode::kNotFound);
  ASSERT_TRUE(db::OpenSqliteLog(log_).ok());
  Status written = WriteReport(log_, {}, out);
  EXPECT_EQ(written.code(), StatusCode::kNotFound);
  EXPECT_EQ(written.message(), "the log has no job to report: tune with it first");
  Write({0, false});
  written = WriteReport(log_, {}, out);
  EXPECT_EQ(written.code(), StatusCode::kNotFound);
  EXPECT_THAT(written.message(), HasSubstr("has no record"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(ReportTest, IsNotWrittenOverALog) {
  Write({});
  EXPECT_EQ(WriteReport(log_, {}, log_).code(), StatusCode::kUnwritable);
  EXPECT_EQ(WriteReport(log_, {}, folder_ + "/none/r.html").code(), StatusCode::kUnwritable);
  const std::string out = folder_ + "/report.html";
  std::ofstream(out) << "old";
  EXPECT_TRUE(WriteReport(log_, {}, out).ok());
  EXPECT_GT(std::filesystem::file_size(out), 10'000u) << "an old report is replaced";
}

TEST_F(ReportTest, NothingOfTheLogIsMarkup) {
  Write({40, true});
  const Result<std::string> text = ReportText(log_, {});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, Not(HasSubstr("<script")));
  EXPECT_THAT(*text, HasSubstr("&lt;script&gt;"));
  for (const char* bytes : {"\x01", "\x1b", "\x7f", "\xff", "\xe2\x80\xae"}) {
    EXPECT_THAT(*text, Not(HasSubstr(bytes)));
  }
}

TEST_F(ReportTest, JobsOnATargetThatIsNoneAreAnError) {
  db::JobRow job = Write({});
  job.target = "nonsense";
  ASSERT_TRUE((*db::OpenSqliteLog(log_))->PutJob(job).ok());
  EXPECT_EQ(ReportText(log_, {}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::report
