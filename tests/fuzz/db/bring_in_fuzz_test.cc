// Merge and Import of damaged and forged logs: never a crash, never a log that is unsound
// afterwards, and a merge takes all or nothing.
#include <gtest/gtest.h>

#include <concepts>
#include <filesystem>
#include <limits>
#include <sstream>
#include <type_traits>
#include <vector>

#include "base/rng.h"
#include "db/json_lines.h"
#include "db/record_fields.h"
#include "db/snapshot/merge.h"
#include "db/snapshot/snapshot.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/sqlite.h"
#include "tests/fuzz/db/damage.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

constexpr int kOwn = 5;
constexpr int kForeign = 40;

class BringInFuzzTest : public LogFixture {
 protected:
  BringInFuzzTest() {
    Fill(Path("own.db"), 0, kOwn);
    EXPECT_TRUE(WriteSnapshot(Path("own.db"), Path("own")).ok());
    own_ = ReadFile(Path("own"));
    Fill(Path("foreign.db"), 1000, kForeign);
    {
      const auto log = *OpenSqliteLog(Path("foreign.db"));
      EXPECT_TRUE(log->SaveModel({"contraction", "cpu", mlc::DigestOf("features"),
                                  std::string(2000, 'm'), 7})
                      .ok());
    }
    EXPECT_TRUE(WriteSnapshot(Path("foreign.db"), Path("foreign")).ok());
  }

  // What is there after `bring` was tried on a log of our own: it is sound, and has what it had.
  // Returns how many records are new.
  template <typename Bring>
  int64_t After(const Bring& bring, const std::string& what) {
    const std::string into = Path("into.db");
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(into + end);
    WriteFile(into, own_);
    bring(into);
    const Result<VerifyReport> report = VerifyLog(into);
    EXPECT_TRUE(report.ok()) << what << ": " << report.status().ToString();
    if (!report.ok()) return -1;
    EXPECT_TRUE(report->problems.empty()) << what << ": " << report->problems[0];
    const auto log = *OpenSqliteLogForReading(into);
    const auto records = log->List({});
    EXPECT_TRUE(records.ok()) << what;
    int own = 0;
    for (const Record& record : *records) {
      const auto n = record.created_us - 1'000'000;
      if (n < 0 || n >= kOwn) continue;
      EXPECT_EQ(DigestOf(record), DigestOf(MakeRecord(static_cast<int>(n)))) << what;
      ++own;
    }
    EXPECT_EQ(own, kOwn) << what;
    return static_cast<int64_t>(records->size()) - own;
  }

  int64_t AfterMerge(const std::string& from, const std::string& what, bool& merged) {
    return After(
        [&](const std::string& into) {
          const Result<MergeCounts> counts = Merge(into, from);
          merged = counts.ok();
          EXPECT_TRUE(counts.ok() || !counts.status().message().empty()) << what;
        },
        what);
  }

  std::string own_;
};

TEST_F(BringInFuzzTest, AMergeOfADamagedLogTakesAllOrNothing) {
  const std::string sound = ReadFile(Path("foreign"));
  Rng rng(3);
  int merges = 0;
  for (int round = 0; round < 400; ++round) {
    WriteFile(Path("damaged"), Damaged(sound, rng));
    bool merged = false;
    const std::string what = "round " + std::to_string(round);
    const int64_t added = AfterMerge(Path("damaged"), what, merged);
    EXPECT_EQ(added, merged ? kForeign : 0) << what;
    merges += merged ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(merges, 0) << "unused bytes do no harm";
  EXPECT_LT(merges, 400);
}

// Rows written by hand, with a digest that fits or without.
TEST_F(BringInFuzzTest, AMergeOfForgedRowsTakesAllOrNothing) {
  const std::vector<std::string> values = {"NULL",
                                           "-1",
                                           "0",
                                           "1",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "4294967305",
                                           "1e300",
                                           "-1e300",
                                           "9e999",
                                           "''",
                                           "'x'",
                                           "'contraction/1'",
                                           "x'00'",
                                           "zeroblob(16)",
                                           "zeroblob(100000)",
                                           "CAST(zeroblob(20000) AS TEXT)",
                                           "'a' || char(0) || 'b'",
                                           "CAST(x'ff' AS TEXT)"};
  std::vector<std::string> columns_of_record = {"id", "family", "family_version", "digest"};
  const Record record;
  VisitFields(record, [&](const FieldInfo& field, const auto&) {
    columns_of_record.emplace_back(field.name);
  });
  const std::vector<std::pair<std::string, std::vector<std::string>>> tables = {
      {"record", columns_of_record},
      {"workload", {"id", "key", "text", "summary"}},
      {"target", {"id", "class"}},
      {"model_blob", {"family", "target", "features", "bytes", "created_us", "digest"}}};
  const std::string sound = ReadFile(Path("foreign"));
  Rng rng(4);
  for (int round = 0; round < 400; ++round) {
    WriteFile(Path("forged"), sound);
    const auto& [table, columns] = tables[rng.Below(tables.size())];
    const std::string edit = "UPDATE " + table + " SET " + columns[rng.Below(columns.size())] +
                             "=" + values[rng.Below(values.size())] +
                             " WHERE rowid=(SELECT max(rowid) FROM " + table + ")";
    {
      Database database = *Database::Open(Path("forged"), OpenMode::kReadWrite);
      ASSERT_TRUE(
          database.Execute("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF").ok());
      (void)database.Execute(edit);
    }
    bool merged = false;
    const int64_t added = AfterMerge(Path("forged"), edit, merged);
    EXPECT_EQ(added, merged ? kForeign : 0) << edit;
    if (HasFailure()) return;
  }
}

Record Forged(Record record, Rng& rng) {
  constexpr double kNumbers[] = {0,
                                 -1,
                                 1e-300,
                                 1e12,
                                 1e15,
                                 1e300,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  const std::string texts[] = {"",
                               "x",
                               "contraction/1",
                               "contraction/0 a=1",
                               std::string("a\0b", 3),
                               std::string(20'000, 'y'),
                               "\xff\xfe"};
  std::vector<double*> numbers;
  std::vector<std::string*> words;
  VisitFields(record, [&](const FieldInfo&, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::same_as<Value, double>) numbers.push_back(&value);
    if constexpr (std::same_as<Value, std::string>) words.push_back(&value);
  });
  for (uint64_t edits = 1 + rng.Below(2); edits > 0; --edits) {
    switch (rng.Below(5)) {
      case 0:
        *words[rng.Below(words.size())] = texts[rng.Below(std::size(texts))];
        break;
      case 1:
        record.measurement.outcome = static_cast<Outcome>(rng.Below(8));
        break;
      case 2:
        record.measurement.runs = static_cast<int32_t>(rng.Next());
        record.predicted_rank = static_cast<int64_t>(rng.Next());
        break;
      default:
        *numbers[rng.Below(numbers.size())] = kNumbers[rng.Below(std::size(kNumbers))];
    }
  }
  return record;
}

TEST_F(BringInFuzzTest, AMergeOfForgedRecordsTakesAllOrNothing) {
  const std::string sound = ReadFile(Path("foreign"));
  Rng rng(5);
  for (int round = 0; round < 400; ++round) {
    WriteFile(Path("forged"), sound);
    bool written = false;
    {
      Database database = *Database::Open(Path("forged"), OpenMode::kReadWrite);
      ASSERT_TRUE(database.Execute("PRAGMA ignore_check_constraints=ON").ok());
      const Result<bool> inserted = InsertRecord(database, Forged(MakeRecord(2000), rng));
      written = inserted.ok() && *inserted;
    }
    bool merged = false;
    const std::string what = "round " + std::to_string(round);
    const int64_t added = AfterMerge(Path("forged"), what, merged);
    EXPECT_EQ(added, merged ? kForeign + (written ? 1 : 0) : 0) << what;
    if (HasFailure()) return;
  }
}

TEST_F(BringInFuzzTest, AnImportOfDamagedOrForgedLinesKeepsTheLogSound) {
  std::ostringstream text;
  ASSERT_TRUE(Export(**OpenSqliteLogForReading(Path("foreign")), text).ok());
  Rng rng(6);
  for (int round = 0; round < 400; ++round) {
    std::string lines = text.str();
    if (rng.Below(2) == 0) {
      lines = Damaged(lines, rng);
    } else {
      lines += ToJsonLine(Forged(MakeRecord(2000), rng)) + "\n";
    }
    bool imported = false;
    const std::string what = "round " + std::to_string(round);
    const int64_t added = After(
        [&](const std::string& into) {
          const auto log = *OpenSqliteLog(into);
          std::istringstream in(lines);
          const Result<ImportCounts> counts = Import(in, *log);
          imported = counts.ok();
        },
        what);
    EXPECT_LE(added, kForeign + 1) << what;
    EXPECT_GE(added, 0) << what;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace mlc::db
