// What a server keeps and reads does not grow with the workers, jobs and records that it has ever
// seen: a year by sample, looked at after a tenth, three tenths and all of it.
#include <gtest/gtest.h>
#include <malloc.h>

#include <map>
#include <string>
#include <vector>

#include "db/sqlite/sqlite_log.h"
#include "tests/temporary_folder.h"
#include "tests/unit/db/statement_counts.h"
#include "tests/unit/server/tuner/year.h"

namespace mlc::server {
namespace {

// The popular workload has more records than any search reads, after a tenth of the year already.
constexpr YearRows kWhole = {120'000, 2'000};
constexpr int kDays = 40;
constexpr int kNamesADay = 250;
constexpr int64_t kMostBytes = 4 << 20;

YearRows PartOf(double part) {
  return {static_cast<int64_t>(part * static_cast<double>(kWhole.records)),
          static_cast<int64_t>(part * static_cast<double>(kWhole.jobs))};
}

struct Look {
  TunerCounts counts;
  int64_t bytes = 0;
};

std::map<std::string, int64_t> FiguresOf(const TunerCounts& counts) {
  return {
      {"names", counts.names},     {"live names", counts.live_names}, {"workers", counts.workers},
      {"health", counts.health},   {"leasing", counts.lease_workers}, {"idle", counts.idle},
      {"classes", counts.classes}, {"checks", counts.checks},         {"sessions", counts.sessions},
      {"jobs", counts.jobs},       {"trials", counts.trials},         {"shares", counts.shares}};
}

void ExpectFlat(const TunerCounts& early, const TunerCounts& late) {
  // Few users come and go with their jobs, and so do names at midnight.
  constexpr int64_t kSome = 8;
  const std::map<std::string, int64_t> before = FiguresOf(early);
  for (const auto& [name, figure] : FiguresOf(late))
    EXPECT_LE(figure, before.at(name) + kSome) << name;
}

TEST(TunerYearTest, WhatItKeepsInMemoryDoesNotGrowWithNamesAndJobs) {
  const tests::TemporaryFolder folder;
  auto log = db::OpenSqliteLog(folder.path("year.db"));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  Year year(**log);
  std::vector<Look> looks;
  for (int day = 1; day <= kDays; ++day) {
    ASSERT_TRUE(year.Day(kNamesADay, 1));
    ASSERT_TRUE(year.Ask());
    if (day != kDays / 10 && day != kDays * 3 / 10 && day != kDays) continue;
    looks.push_back({year.tuner().Count(), static_cast<int64_t>(mallinfo2().uordblks)});
  }
  ASSERT_EQ(looks.size(), 3u);
  ExpectFlat(looks[0].counts, looks[1].counts);
  ExpectFlat(looks[1].counts, looks[2].counts);
  EXPECT_LE(looks[2].counts.workers, 2 * kNamesADay);
  EXPECT_LE(looks[2].counts.live_names, 1);
  EXPECT_LE(looks[2].bytes, looks[1].bytes + kMostBytes);
  EXPECT_LE(year.NextPollMs(), 100) << "the dead do not poll";
}

// The figures of what a server reads when it starts, runs a job and answers.
std::map<std::string, db::StatementCount> ReadsOf(const std::string& path, int64_t first_job) {
  (void)db::StatementCounts::Take();
  auto log = db::OpenSqliteLog(path);
  EXPECT_TRUE(log.ok()) << log.status().ToString();
  if (!log.ok()) return {};
  {
    Year year(**log, first_job);
    EXPECT_TRUE(year.Day(5, 3));
    EXPECT_TRUE(year.Ask());
  }
  log->reset();
  return db::StatementCounts::Take();
}

TEST(TunerYearTest, WhatItReadsDoesNotGrowWithTheLog) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("rows.db");
  db::StatementCounts::Start();
  std::vector<std::map<std::string, db::StatementCount>> reads;
  YearRows filled;
  for (const double part : {0.1, 0.3, 1.0}) {
    ASSERT_TRUE(FillYear(path, filled, PartOf(part)).ok());
    filled = PartOf(part);
    reads.push_back(ReadsOf(path, filled.jobs));
  }
  ASSERT_GT(reads[2].size(), 10u) << "nothing was counted";
  int about_records = 0;
  for (const auto& [text, late] : reads[2]) {
    about_records += text.find("FROM record") != std::string::npos ? 1 : 0;
    EXPECT_LE(late.scanned, 64 * late.runs) << "walks a table: " << text;
    const auto early = reads[0].find(text);
    if (early == reads[0].end()) continue;
    // Trees are a level deeper here and there.
    EXPECT_LE(late.steps_a_run(), 1.2 * early->second.steps_a_run() + 500) << text;
  }
  EXPECT_GE(about_records, 4);
}

}  // namespace
}  // namespace mlc::server
