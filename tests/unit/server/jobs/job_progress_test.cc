#include "server/jobs/job_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "server/jobs/job_request.h"

namespace mlc::server {
namespace {

using ::testing::ElementsAre;

// As rows of earlier releases have it.
constexpr char kEarlierText[] =
    R"({"detail":"waits","trials":"9007199254740993","trialsWanted":"12","replayed":"3",)"
    R"("tasks":[{"trials":"5","bestNs":1234.5,"defaultNs":2000,"bestConfig":"fake/1 x=2",)"
    R"("done":true},{},{"priorConfig":"fake/1 x=3","estimateNs":1e+20}],)"
    R"("outcomes":["4","0","1"],"elapsedS":0.25,"target":"target v1"})";

db::JobRow RowWith(const std::string& progress, size_t tasks) {
  JobOptions options;
  options.trials = 40;
  db::JobRow row;
  row.state = db::JobState::kDone;
  row.options = options.ToText();
  row.trials = 7;
  row.progress = progress;
  row.tasks.resize(tasks);
  return row;
}

TEST(JobProgressTest, RowsOfEarlierReleasesAreRead) {
  const JobProgress progress = ProgressFrom(RowWith(kEarlierText, 3));
  EXPECT_EQ(progress.state, db::JobState::kDone);
  EXPECT_EQ(progress.detail, "waits");
  EXPECT_EQ(progress.trials, 9'007'199'254'740'993) << "more than a double holds";
  EXPECT_EQ(progress.trials_wanted, 40) << "as the options have it";
  EXPECT_EQ(progress.replayed, 3);
  ASSERT_EQ(progress.tasks.size(), 3u);
  EXPECT_EQ(progress.tasks[0].trials, 5);
  EXPECT_EQ(progress.tasks[0].best_ns, 1234.5);
  EXPECT_EQ(progress.tasks[0].default_ns, 2000);
  EXPECT_EQ(progress.tasks[0].best_config, "fake/1 x=2");
  EXPECT_TRUE(progress.tasks[0].done);
  EXPECT_EQ(progress.tasks[1].trials, 0);
  EXPECT_EQ(progress.tasks[2].prior_config, "fake/1 x=3");
  EXPECT_EQ(progress.tasks[2].estimate_ns, 1e20);
  EXPECT_THAT(progress.outcomes, ElementsAre(4, 0, 1));
  EXPECT_EQ(progress.elapsed_s, 0.25);
  EXPECT_EQ(progress.target, "target v1");
}

TEST(JobProgressTest, WhatIsWrittenIsReadAgain) {
  const JobProgress first = ProgressFrom(RowWith(kEarlierText, 3));
  const std::string text = ProgressText(first);
  EXPECT_EQ(ProgressText(ProgressFrom(RowWith(text, 3))), text);
  EXPECT_EQ(text.find("state"), std::string::npos) << "it is a column of its own";
}

TEST(JobProgressTest, ATextThatCannotBeReadGivesTasksWithoutFigures) {
  for (const char* text : {"{", "[]", "7", R"({"trials":3})", R"({"tasks":[1]})",
                           R"({"tasks":[{"bestNs":true}]})", R"({"outcomes":["x"]})"}) {
    const JobProgress progress = ProgressFrom(RowWith(text, 2));
    EXPECT_EQ(progress.trials, 0) << text;
    ASSERT_EQ(progress.tasks.size(), 2u) << text;
    EXPECT_EQ(progress.tasks[0].best_ns, 0) << text;
    EXPECT_TRUE(progress.outcomes.empty()) << text;
  }
  EXPECT_EQ(ProgressFrom(RowWith("", 2)).trials, 7) << "as the row has it";
}

TEST(JobProgressTest, TextsAndNumbersThatJsonLacksDoNoHarm) {
  JobProgress progress;
  progress.detail = "clang: \xff\xfe";
  progress.tasks.resize(1);
  progress.tasks[0].best_ns = std::numeric_limits<double>::infinity();
  const JobProgress again = ProgressFrom(RowWith(ProgressText(progress), 1));
  EXPECT_EQ(again.detail, "clang: \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(again.tasks[0].best_ns, 0);
  EXPECT_EQ(ProgressFrom(RowWith(R"({"elapsedS":"Infinity","trials":"2"})", 1)).trials, 2);
}

}  // namespace
}  // namespace mlc::server
