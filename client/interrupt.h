// Ctrl-C and SIGTERM as events: the first one calls back, the second one ends the program at once
// with exit code 130. Make one before any other thread starts, so that all inherit its blocked
// signals.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace mlc::client {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();

  // Called once, on the interrupt's thread; at once if the signal came already.
  void OnFirst(std::function<void()> callback);
  bool requested() const { return requested_; }

 private:
  void Loop();

  std::mutex mutex_;
  std::function<void()> callback_;
  std::atomic<bool> requested_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace mlc::client
