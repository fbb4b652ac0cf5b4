// Whether the log can be written: the error of the last write. Thread-safe.
#pragma once

#include "base/mutex.h"
#include "base/status.h"

namespace mlc::server {

class LogHealth {
 public:
  // OK after a write, which ends the trouble: workers send their results until they are kept.
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
