#include "server/logging/log_file.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>

#include "base/file_access.h"

namespace mlc::server {
namespace {

int OpenForAppending(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

class LogFile : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~LogFile() override { close(fd_); }

  void Reopen() {
    std::lock_guard lock(mutex_);
    OpenAgain();
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (Moved()) OpenAgain();
    if (lost_ > 0 && !Write(Line(LostWords(message)))) {
      ++lost_;
      return;
    }
    lost_ = 0;
    if (!Write(Line(message))) {
      ++lost_;
      why_lost_ = strerror(errno);
    }
  }
  void flush_() override {}

 private:
  bool Moved() const {
    struct stat ours;
    struct stat named;
    return stat(path_.c_str(), &named) != 0 || fstat(fd_, &ours) != 0 ||
           ours.st_ino != named.st_ino || ours.st_dev != named.st_dev;
  }
  // If it cannot, the old file takes the messages on.
  void OpenAgain() {
    const int fd = OpenForAppending(path_);
    if (fd < 0) return;
    close(fd_);
    fd_ = fd;
    torn_ = false;
  }
  std::string Line(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    return std::string(text.data(), text.size());
  }
  spdlog::details::log_msg LostWords(const spdlog::details::log_msg& message) {
    lost_words_ = std::to_string(lost_) + " messages were lost: " + why_lost_;
    spdlog::details::log_msg words = message;
    words.level = spdlog::level::err;
    words.payload = lost_words_;
    return words;
  }
  // A line that found space in part is ended before the next one begins.
  bool Write(const std::string& line) {
    std::string_view rest = line;
    const std::string ended = torn_ ? "\n" + line : std::string();
    if (torn_) rest = ended;
    while (!rest.empty()) {
      const ssize_t wrote = write(fd_, rest.data(), rest.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return false;
      rest.remove_prefix(static_cast<size_t>(wrote));
      torn_ = !rest.empty();
    }
    return true;
  }

  const std::string path_;
  int fd_;
  bool torn_ = false;
  int64_t lost_ = 0;
  std::string why_lost_;
  std::string lost_words_;
};

}  // namespace

Result<std::shared_ptr<spdlog::sinks::sink>> OpenLogFile(const std::string& path) {
  const int fd = OpenForAppending(path);
  if (fd < 0) {
    const Status why = CannotOpen("cannot write", path, errno);
    const bool missing = why.code() == StatusCode::kNotFound;
    return missing ? Unwritable(why.message()) : why;
  }
  return std::shared_ptr<spdlog::sinks::sink>(std::make_shared<LogFile>(path, fd));
}

void ReopenLogFiles(spdlog::logger& logger) {
  for (const auto& sink : logger.sinks()) {
    if (auto* file = dynamic_cast<LogFile*>(sink.get())) file->Reopen();
  }
}

}  // namespace mlc::server
