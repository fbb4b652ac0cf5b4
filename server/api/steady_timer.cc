#include "server/api/steady_timer.h"

#include <utility>

namespace mlc::server {

SteadyTimer::~SteadyTimer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SteadyTimer::After(std::chrono::milliseconds wait, std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    due_.emplace(Clock::now() + wait, std::move(callback));
  }
  wake_.notify_one();
}

void SteadyTimer::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_ || !due_.empty()) {
    if (due_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto first = due_.begin();
    if (!stopping_ && Clock::now() < first->first) {
      wake_.wait_until(lock, Clock::time_point(first->first));
      continue;
    }
    const std::function<void()> callback = std::move(first->second);
    due_.erase(first);
    lock.unlock();
    callback();
    lock.lock();
  }
}

}  // namespace mlc::server
