// Runs callbacks after a delay measured by the steady clock. gRPC's own alarms use the wall clock:
// if that clock is set back, they fire late and delay the shutdown.
//
// Callbacks run one after another on a thread of the timer's own and should be quick. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "base/mutex.h"

namespace mlc::server {

class SteadyTimer {
 public:
  SteadyTimer() : thread_([this] { Run(); }) {}
  // Runs the pending callbacks immediately, then returns.
  ~SteadyTimer();
  SteadyTimer(const SteadyTimer&) = delete;
  SteadyTimer& operator=(const SteadyTimer&) = delete;

  void After(std::chrono::milliseconds wait, std::function<void()> callback);

 private:
  using Time = std::chrono::steady_clock::time_point;
  void Run();
  // Waits until a callback is due; empty once the destructor has begun and none is left.
  std::function<void()> Next() MLC_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar wake_;
  std::multimap<Time, std::function<void()>> due_ MLC_GUARDED_BY(mutex_);
  bool stopping_ MLC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mlc::server
