// What becomes of the files that a server follows: tokens, revocations, certificates, quotas. One
// that cannot be used leaves what was read before in force, and nobody would notice a revocation
// that never came: so it is said at once and again and again, and counted. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "server/metrics/metrics.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

class FileNotes {
 public:
  FileNotes(std::shared_ptr<spdlog::logger> logger, std::shared_ptr<Metrics> metrics)
      : logger_(std::move(logger)), metrics_(std::move(metrics)) {}

  // How the last look at the file went; `file` is a word of the code. An error is written when it
  // is new or another one, then every 30 s; its end, too.
  void Note(const std::string& file, const Status& status, int64_t now_ms);
  // No file is refused at present.
  bool sound() const;

 private:
  struct State {
    Status status;
    int64_t said_ms = 0;
  };

  const std::shared_ptr<spdlog::logger> logger_;
  const std::shared_ptr<Metrics> metrics_;
  mutable std::mutex mutex_;
  std::map<std::string, State> files_;
};

}  // namespace mlc::server
