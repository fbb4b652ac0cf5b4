// A log of two years does not make a submission or the end of a job dear: what SQLite does for them
// is counted, in steps of its machine, not timed.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>

#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

std::atomic<int64_t> steps = 0;

int CountSteps(void*) {
  steps += 10;
  return 0;
}

// For every connection that is opened from now on.
int WatchConnection(sqlite3* database, const char**, const sqlite3_api_routines*) {
  sqlite3_progress_handler(database, 10, CountSteps, nullptr);
  return SQLITE_OK;
}

class GrowthTest : public TunerTest {
 protected:
  GrowthTest() : path_(::testing::TempDir() + "/mlc-growth-test.db") { Remove(); }
  ~GrowthTest() override {
    sqlite3_reset_auto_extension();
    tuner_.reset();
    log_.reset();
    Remove();
  }

  void SetUp() override {}
  void Remove() const {
    for (const char* end : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path_ + end);
  }

  // A job and all of its trials, on a log with so many ended jobs before it.
  int64_t StepsOfAJob(int64_t jobs) {
    tuner_.reset();
    log_.reset();
    Remove();
    (void)*db::OpenSqliteLog(path_);
    {
      auto database = db::Database::Open(path_, db::OpenMode::kReadWrite);
      EXPECT_TRUE(
          database
              ->Execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
                        " WHERE i<" +
                        std::to_string(jobs) +
                        ") INSERT INTO job(id, label, target, options, state, trials,"
                        " watermark, detail, created_us, owner, priority, spent_ms, changed_us,"
                        " progress, base, crashes) SELECT randomblob(16), 'old',"
                        " 'target', '{\"models\":' || i || '}', 1 + i%2, 8, 0, '', i,"
                        " '', 0, 0, i, '', randomblob(16), 0 FROM n")
              .ok());
    }
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(WatchConnection));
    log_ = *db::OpenSqliteLog(path_);
    Restart();
    steps = 0;
    const std::string job = Submit(8);
    Work(job);
    const int64_t taken = steps;
    EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
    sqlite3_reset_auto_extension();
    return taken;
  }

 private:
  std::string path_;
};

TEST_F(GrowthTest, AHundredThousandJobsMakeAJobNotDearer) {
  const int64_t few = StepsOfAJob(100);
  const int64_t many = StepsOfAJob(100'000);
  RecordProperty("steps_of_100", std::to_string(few));
  RecordProperty("steps_of_100000", std::to_string(many));
  EXPECT_GT(few, 100);
  EXPECT_LT(many, 3 * few + 5000);
}

}  // namespace
}  // namespace mlc::server
