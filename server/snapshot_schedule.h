// Publishes snapshots of the log into a folder, again and again, on a thread of its own, so that
// builds find a fresh one without asking the server. A failure is logged and tried again at the
// next turn. Thread-safe.
#pragma once

#include <spdlog/spdlog.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "db/snapshot/snapshot_folder.h"

namespace mlc::server {

struct SnapshotOptions {
  std::string folder;  // empty: no snapshots
  int64_t every_ms = 3'600'000;
  db::SnapshotPolicy policy = {.free_percent = 10, .makes_room = true};
  // Hears how each turn went, on the schedule's thread; may be empty.
  std::function<void(const Status&)> heard = {};
};

class SnapshotSchedule {
 public:
  // The first one is published at once. REQUIRES: `log` is the path of a log that exists.
  SnapshotSchedule(std::string log, SnapshotOptions options,
                   std::shared_ptr<spdlog::logger> logger);
  // Waits for one that is being written.
  ~SnapshotSchedule();
  SnapshotSchedule(const SnapshotSchedule&) = delete;
  SnapshotSchedule& operator=(const SnapshotSchedule&) = delete;

 private:
  void Run();
  void Publish();

  const std::string log_;
  const SnapshotOptions options_;
  const std::shared_ptr<spdlog::logger> logger_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: runs with the members above
};

}  // namespace mlc::server
