#include "client/local/build_ahead.h"

#include <utility>

namespace mlc::client {

BuildAhead::BuildAhead(size_t count, size_t threads, Build build)
    : count_(count), most_ready_(threads), build_(std::move(build)), at_work_(threads) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  }
}

BuildAhead::~BuildAhead() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void BuildAhead::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (next_ < count_ && !stop.stop_requested()) {
    const size_t index = next_++;
    lock.unlock();
    const Result<std::string> library = build_(index, stop);
    lock.lock();
    if (library.ok()) ready_.push({index, *library});
    changed_.notify_all();
    changed_.wait(lock, stop, [this] { return ready_.size() < most_ready_; });
  }
  --at_work_;
  changed_.notify_all();
}

std::vector<Built> BuildAhead::Take(size_t most, std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this] { return !ready_.empty() || at_work_ == 0; });
  std::vector<Built> taken;
  for (; !ready_.empty() && taken.size() < most; ready_.pop()) taken.push_back(ready_.front());
  changed_.notify_all();
  return taken;
}

bool BuildAhead::IsDone() const {
  const std::lock_guard lock(mutex_);
  return ready_.empty() && at_work_ == 0;
}

}  // namespace mlc::client
