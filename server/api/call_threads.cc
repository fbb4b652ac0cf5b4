#include "server/api/call_threads.h"

#include <utility>

namespace mlc::server {

CallThreads::CallThreads(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

CallThreads::~CallThreads() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void CallThreads::Run(std::function<void()> call) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(call));
  }
  wake_.NotifyOne();
}

std::function<void()> CallThreads::Next() {
  const MutexLock lock(mutex_);
  while (!stopping_ && waiting_.empty()) wake_.Wait(mutex_);
  if (waiting_.empty()) return {};
  std::function<void()> call = std::move(waiting_.front());
  waiting_.pop_front();
  return call;
}

void CallThreads::Loop() {
  while (const std::function<void()> call = Next()) call();
}

}  // namespace mlc::server
