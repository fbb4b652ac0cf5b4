// A file lock that keeps the computation of the search and the timing of a local worker apart: each
// holds it while it works. With an empty path, it does nothing. Not thread-safe.
#pragma once

#include <string>

namespace mlc::server {

class TimingLock {
 public:
  explicit TimingLock(const std::string& path);
  ~TimingLock();
  TimingLock(const TimingLock&) = delete;
  TimingLock& operator=(const TimingLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace mlc::server
