#include "base/rpc/call_guard.h"

#include <utility>

namespace mlc::transport {

CallGuard::CallGuard(grpc::ClientContext& context, std::chrono::milliseconds timeout,
                     std::stop_token stop)
    : context_(context),
      timeout_(timeout),
      due_(Clock::now() + timeout),
      stop_(std::move(stop), [&context] { context.TryCancel(); }),
      thread_([this] { Run(); }) {}

CallGuard::~CallGuard() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void CallGuard::Renew() {
  std::lock_guard lock(mutex_);
  due_ = Clock::now() + timeout_;
}

bool CallGuard::expired() const {
  std::lock_guard lock(mutex_);
  return expired_;
}

void CallGuard::Run() {
  std::unique_lock lock(mutex_);
  while (!over_ && Clock::now() < due_) wake_.wait_until(lock, Clock::time_point(due_));
  if (over_) return;
  expired_ = true;
  context_.TryCancel();
}

}  // namespace mlc::transport
