#include "server/api/call_threads.h"

#include <utility>

namespace mlc::server {

CallThreads::CallThreads(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

CallThreads::~CallThreads() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CallThreads::Run(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(call));
  }
  wake_.notify_one();
}

void CallThreads::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> call = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace mlc::server
