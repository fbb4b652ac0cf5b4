// Threads for the calls that wait for the log or compute for long: gRPC has few of its own, and
// while those block, all other calls block too. Thread-safe.
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
  // What was given to it is run.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // In the order given, as many at a time as there are threads.
  void Run(std::function<void()> call);

 private:
  void Loop();
  // Waits for the next call; empty at the end.
  std::function<void()> Next() MLC_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> waiting_ MLC_GUARDED_BY(mutex_);
  bool stopping_ MLC_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mlc::server
