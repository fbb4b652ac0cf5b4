// Keeps the search's computing and a local worker's timing apart: both hold one file lock while
// they work. Without a path it does nothing.
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
