// Threads for the calls that wait for the log or compute for long: gRPC has few of its own, and
// while those block, all other calls block too. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mlc::server
