// Calls back later, by the steady clock. gRPC's own alarms wait for a time of the day: where the
// clock is set back, they come as much later, and a stop waits for them.
//
// Callbacks run one after another on a thread of the timer's own and should be quick. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace mlc::server {

class SteadyTimer {
 public:
  SteadyTimer() : thread_([this] { Run(); }) {}
  // What still waits runs at once.
  ~SteadyTimer();
  SteadyTimer(const SteadyTimer&) = delete;
  SteadyTimer& operator=(const SteadyTimer&) = delete;

  void After(std::chrono::milliseconds wait, std::function<void()> callback);

 private:
  using Clock = std::chrono::steady_clock;
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<Clock::time_point, std::function<void()>> due_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mlc::server
