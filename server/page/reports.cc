#include "server/page/reports.h"

#include <algorithm>

namespace mlc::server::page {
namespace {

// A report takes at most a twentieth of one core's time.
constexpr int64_t kKeptMs = 10'000;
constexpr int64_t kKeptTimes = 20;
constexpr size_t kMost = 16;

}  // namespace

Result<html::Markup> Reports::Of(const std::string& job) {
  const Result<proto::JobProgress> progress = source_.Progress(job);
  const bool is_final = progress.ok() && progress->state() != proto::RUNNING;
  const MutexLock lock(mutex_);
  const int64_t now = clock_.SteadyMs();
  const auto found = made_.find(job);
  if (found != made_.end() && now < found->second.until_ms && found->second.is_final == is_final) {
    return found->second.report;
  }
  if (found != made_.end()) made_.erase(found);
  if (made_.size() >= kMost) {
    made_.erase(std::min_element(made_.begin(), made_.end(), [](const auto& a, const auto& b) {
      return a.second.until_ms < b.second.until_ms;
    }));
  }
  Result<html::Markup> report = source_.Report(job);
  const int64_t end = clock_.SteadyMs();
  made_.emplace(job, Made{report, end + std::max(kKeptMs, kKeptTimes * (end - now)), is_final});
  return report;
}

}  // namespace mlc::server::page
