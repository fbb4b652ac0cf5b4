// State of the files that a server watches: tokens, revocations, certificates, quotas. A file
// that cannot be used leaves its earlier content in force, so a revocation would silently have no
// effect: errors are logged at once and repeatedly, and exported as a metric. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "server/metrics/metrics.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

class WatchedFiles {
 public:
  WatchedFiles(std::shared_ptr<spdlog::logger> logger, std::shared_ptr<Metrics> metrics)
      : logger_(std::move(logger)), metrics_(std::move(metrics)) {}

  // Records the result of the last read of the file (`file` is a fixed name). An error is logged
  // when it is new or different, then every 30 s; so is its end.
  void Update(const std::string& file, const Status& status, int64_t now_ms);
  // No watched file has an error.
  bool all_valid() const;

 private:
  struct State {
    Status status;
    int64_t said_ms = 0;
  };

  const std::shared_ptr<spdlog::logger> logger_;
  const std::shared_ptr<Metrics> metrics_;
  mutable Mutex mutex_;
  std::map<std::string, State> files_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
