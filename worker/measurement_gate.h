// The gate between timings and other heavy work on the same machine: a lock file. A worker holds it
// exclusively while it times; whoever computes for long (model fits) holds it, shared or
// exclusively, meanwhile. Without a path, or if the file cannot be opened, the gate is open: that
// costs precision, never correctness. Linux only; the lock ends with its holder, also after a
// crash.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

namespace mlc::worker {

class MeasurementGate {
 public:
  enum class Mode { kShared, kExclusive };

  // Waits until the lock is free.
  MeasurementGate(const std::string& path, Mode mode) {
    if (path.empty()) return;
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ >= 0) (void)flock(fd_, mode == Mode::kShared ? LOCK_SH : LOCK_EX);
  }
  ~MeasurementGate() {
    if (fd_ < 0) return;
    // Explicitly: children that were forked meanwhile hold the same lock.
    (void)flock(fd_, LOCK_UN);
    close(fd_);
  }
  MeasurementGate(const MeasurementGate&) = delete;
  MeasurementGate& operator=(const MeasurementGate&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace mlc::worker
