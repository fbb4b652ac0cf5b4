#include "server/tuner/timing_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace mlc::server {

TimingLock::TimingLock(const std::string& path) {
  if (path.empty()) return;
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // A lock that cannot be had costs precision of timings, not correctness.
  if (fd_ >= 0) (void)flock(fd_, LOCK_EX);
}

TimingLock::~TimingLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace mlc::server
