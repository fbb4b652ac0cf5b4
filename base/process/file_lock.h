// One writer per log: an exclusive lock on "<path>.lock" that names its holder. The kernel frees it
// when the process ends, however it ends; the file stays.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::db {

class FileLock {
 public:
  // ABORTED "another process uses this log: pid N" while another process holds it (if that has
  // ended, and only a child of its has the lock, that is waited for, ten seconds at most);
  // INVALID_ARGUMENT on a network file system, where neither locks nor write-ahead logs can be
  // trusted.
  static Result<FileLock> Take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace mlc::db
