#include "server/snapshot_schedule.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

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

TEST(SnapshotScheduleTest, PublishesAtOnceAndEndsWithoutWaitingForItsTurn) {
  const std::string folder = Folder();
  ASSERT_TRUE(db::OpenSqliteLog(folder + "/a.db").ok());
  {
    const SnapshotSchedule schedule(folder + "/a.db", {.folder = folder + "/out"}, Silent());
    while (!std::filesystem::exists(folder + "/out/latest.db")) std::this_thread::yield();
  }
  EXPECT_TRUE(db::OpenSqliteLogForReading(folder + "/out/latest.db").ok());
  std::filesystem::remove_all(folder);
}

TEST(SnapshotScheduleTest, GoesOnAfterAFailure) {
  const std::string folder = Folder();
  // A file where the folder should be.
  ASSERT_TRUE(db::OpenSqliteLog(folder + "/a.db").ok());
  ASSERT_TRUE(db::OpenSqliteLog(folder + "/out").ok());
  {
    std::atomic<int> failures = 0;
    std::atomic<int> successes = 0;
    const auto heard = [&](const Status& status) { ++(status.ok() ? successes : failures); };
    const SnapshotSchedule schedule(
        folder + "/a.db", {.folder = folder + "/out", .every_ms = 1, .heard = heard}, Silent());
    while (failures == 0) std::this_thread::yield();
    std::filesystem::rename(folder + "/out", folder + "/moved");
    while (!std::filesystem::exists(folder + "/out/latest.db") || successes == 0) {
      std::this_thread::yield();
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(SnapshotScheduleTest, WithoutAFolderItDoesNothing) {
  const SnapshotSchedule schedule("/nonexistent/a.db", {}, Silent());
}

}  // namespace
}  // namespace mlc::server
