#include "server/snapshot_schedule.h"

#include <utility>

namespace mlc::server {

SnapshotSchedule::SnapshotSchedule(std::string log, SnapshotOptions options,
                                   std::shared_ptr<spdlog::logger> logger)
    : log_(std::move(log)), options_(std::move(options)), logger_(std::move(logger)) {
  if (!options_.folder.empty()) thread_ = std::thread([this] { Run(); });
}

SnapshotSchedule::~SnapshotSchedule() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void SnapshotSchedule::Run() {
  do {
    Publish();
  } while (!StopsWithin(std::chrono::milliseconds(options_.every_ms)));
}

bool SnapshotSchedule::StopsWithin(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  const MutexLock lock(mutex_);
  while (!stopping_ && wake_.WaitUntil(mutex_, end)) {
  }
  return stopping_;
}

void SnapshotSchedule::Publish() {
  const Result<db::PublishedSnapshot> published =
      db::PublishSnapshot(log_, options_.folder, options_.policy, options_.clock->WallUs());
  if (options_.heard) options_.heard(published.status());
  if (!published.ok()) {
    logger_->error("no snapshot: {}; builds go on with the last one", published.status().message());
  } else if (published->is_new) {
    logger_->info("snapshot {}: {} records, {} bytes, {} old ones removed", published->path,
                  published->info.records, published->info.bytes, published->removed.size());
  }
}

}  // namespace mlc::server
