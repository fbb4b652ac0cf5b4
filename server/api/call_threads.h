// Threads for calls that read the log or compute for long. gRPC has few threads; if these calls
// blocked them, all other calls would wait. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace mlc::server {

class CallThreads {
 public:
  explicit CallThreads(int threads);
  // Runs all calls that were passed to Run, then returns.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Runs calls in the order of submission, at most one per thread at a time.
  void Run(std::function<void()> call);

 private:
  void Loop();
  // Waits for the next call; empty once the destructor has begun and no call is left.
  std::function<void()> Next() MLC_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> waiting_ MLC_GUARDED_BY(mutex_);
  bool stopping_ MLC_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mlc::server
