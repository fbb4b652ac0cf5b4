// The health of the log: the status of the last write. Thread-safe.
#pragma once

#include "base/mutex.h"
#include "base/status.h"

namespace mlc::server {

class LogHealth {
 public:
  // Records the result of a write. A success clears an earlier error, because workers resend their
  // results until the log has them.
  void Set(const Status& status) MLC_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    status_ = status;
  }
  Status status() const MLC_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  Status status_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
