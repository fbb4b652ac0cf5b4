// One writer per log: an exclusive lock on "<path>.lock", which names its holder. The kernel
// releases it when the process ends in any way; the file stays. A lock belongs to one thread at a
// time.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::db {

class FileLock {
 public:
  // ABORTED "another process uses this log: pid N" if another process holds the lock. If that
  // process has ended and only a child of it still holds the lock, Take waits for up to ten
  // seconds. INVALID_ARGUMENT on a network file system, where locks and write-ahead logs are not
  // reliable.
  static Result<FileLock> Take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace mlc::db
