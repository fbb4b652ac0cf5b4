#include "server/snapshot_schedule.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>

#include "db/sqlite/sqlite_log.h"

namespace mlc::server {
namespace {

std::string Folder() {
  const std::string folder = ::testing::TempDir() + "/mlc-snapshot-schedule";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::shared_ptr<spdlog::logger> Silent() {
  return std::make_shared<spdlog::logger>("silent",
                                          std::make_shared<spdlog::sinks::null_sink_mt>());
}

// Hears how the turns of a schedule end.
class Turns {
 public:
  // Keeps no share of the volume free, since a build's may be nearly full.
  SnapshotOptions Into(const std::string& folder) {
    SnapshotOptions options = {.folder = folder, .policy = {.free_percent = 0}};
    options.heard = [this](const Status& turn) {
      const std::lock_guard lock(mutex_);
      last_ = turn;
      ++count_;
      heard_.notify_all();
    };
    return options;
  }

  // Waits for a turn that ends well, or badly, at most a minute.
  ::testing::AssertionResult Ends(bool well) {
    std::unique_lock lock(mutex_);
    const bool ended = heard_.wait_for(lock, std::chrono::minutes(1),
                                       [&] { return count_ > 0 && last_.ok() == well; });
    if (ended) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << count_ << " turns, the last: " << last_.ToString();
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  Status last_;
  int count_ = 0;
};

TEST(SnapshotScheduleTest, PublishesAtOnceAndEndsWithoutWaitingForItsTurn) {
  const std::string folder = Folder();
  ASSERT_TRUE(db::OpenSqliteLog(folder + "/a.db").ok());
  Turns turns;
  {
    const SnapshotSchedule schedule(folder + "/a.db", turns.Into(folder + "/out"), Silent());
    EXPECT_TRUE(turns.Ends(true));
  }
  EXPECT_TRUE(db::OpenSqliteLogForReading(folder + "/out/latest.db").ok());
  std::filesystem::remove_all(folder);
}

TEST(SnapshotScheduleTest, GoesOnAfterAFailure) {
  const std::string folder = Folder();
  // A file where the folder should be.
  ASSERT_TRUE(db::OpenSqliteLog(folder + "/a.db").ok());
  ASSERT_TRUE(db::OpenSqliteLog(folder + "/out").ok());
  Turns turns;
  SnapshotOptions options = turns.Into(folder + "/out");
  options.every_ms = 1;
  {
    const SnapshotSchedule schedule(folder + "/a.db", options, Silent());
    EXPECT_TRUE(turns.Ends(false));
    std::filesystem::rename(folder + "/out", folder + "/moved");
    EXPECT_TRUE(turns.Ends(true));
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/out/latest.db"));
  std::filesystem::remove_all(folder);
}

TEST(SnapshotScheduleTest, WithoutAFolderItDoesNothing) {
  const SnapshotSchedule schedule("/nonexistent/a.db", {}, Silent());
}

}  // namespace
}  // namespace mlc::server
