#include "server/api/steady_timer.h"

#include <utility>

namespace mlc::server {

SteadyTimer::~SteadyTimer() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  thread_.join();
}

void SteadyTimer::After(std::chrono::milliseconds wait, std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    due_.emplace(std::chrono::steady_clock::now() + wait, std::move(callback));
  }
  wake_.NotifyOne();
}

std::function<void()> SteadyTimer::Next() {
  const MutexLock lock(mutex_);
  while (!stopping_ || !due_.empty()) {
    if (due_.empty()) {
      wake_.Wait(mutex_);
      continue;
    }
    const auto first = due_.begin();
    const Time when = first->first;
    if (!stopping_ && std::chrono::steady_clock::now() < when) {
      (void)wake_.WaitUntil(mutex_, when);
      continue;
    }
    std::function<void()> callback = std::move(first->second);
    due_.erase(first);
    return callback;
  }
  return {};
}

void SteadyTimer::Run() {
  while (const std::function<void()> callback = Next()) callback();
}

}  // namespace mlc::server
