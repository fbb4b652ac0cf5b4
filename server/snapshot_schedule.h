// Publishes snapshots of the log into a folder at a fixed interval, on a thread of its own, so that
// builds get recent records without a server. A failure is logged, and the next turn tries again.
// Thread-safe.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "db/snapshot/snapshot_folder.h"

namespace mlc::server {

struct SnapshotOptions {
  std::string folder;  // empty: no snapshots
  int64_t every_ms = 3'600'000;
  db::SnapshotPolicy policy = {.free_percent = 10, .makes_room = true};
  // Called with the result of each turn, on the schedule's thread; may be empty.
  std::function<void(const Status&)> heard = {};
  const Clock* clock = &SystemClock();
};

class SnapshotSchedule {
 public:
  // Publishes the first snapshot immediately. REQUIRES: `log` is the path of an existing log.
  SnapshotSchedule(std::string log, SnapshotOptions options,
                   std::shared_ptr<spdlog::logger> logger);
  // Waits for a snapshot in progress.
  ~SnapshotSchedule();
  SnapshotSchedule(const SnapshotSchedule&) = delete;
  SnapshotSchedule& operator=(const SnapshotSchedule&) = delete;

 private:
  void Run();
  // Waits at most this long for the stop; true if it was requested.
  bool StopsWithin(std::chrono::milliseconds time) MLC_EXCLUDES(mutex_);
  void Publish();

  const std::string log_;
  const SnapshotOptions options_;
  const std::shared_ptr<spdlog::logger> logger_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ MLC_GUARDED_BY(mutex_) = false;  // guarded by mutex_
  std::thread thread_;                            // last: runs with the members above
};

}  // namespace mlc::server
