#include "server/metrics/watched_files.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace mlc::server {
namespace {

constexpr int64_t kAgainMs = 30'000;

}  // namespace

void WatchedFiles::Update(const std::string& file, const Status& status, int64_t now_ms) {
  const MutexLock lock(mutex_);
  State& state = files_[file];
  metrics_->SetFileInvalid(file, !status.ok());
  const bool changed = state.status != status;
  if (!status.ok() && (changed || now_ms - state.said_ms >= kAgainMs)) {
    logger_->error("{}: the old ones stay in force: {}", file, status.message());
    state.said_ms = now_ms;
  }
  if (status.ok() && changed) logger_->info("{}: the file can be used again", file);
  state.status = status;
}

bool WatchedFiles::all_valid() const {
  const MutexLock lock(mutex_);
  return std::ranges::all_of(files_, [](const auto& file) { return file.second.status.ok(); });
}

}  // namespace mlc::server
