// Cancels a gRPC call that takes too long by the steady clock, or when a stop is requested. gRPC's
// own deadlines use the wall clock and do not fire while it is set back (clock_watch.h).
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace mlc::transport {

// Make one per call, before the call begins. `context` must outlive it. Thread-safe.
class CallGuard {
 public:
  // Cancels the call `timeout` from now, or as soon as `stop` is requested.
  CallGuard(grpc::ClientContext& context, std::chrono::milliseconds timeout,
            std::stop_token stop = {});
  CallGuard(const CallGuard&) = delete;
  ~CallGuard();

  // Restarts the timeout, because a message arrived.
  void Renew();
  // Whether the call was cancelled because it took too long.
  bool expired() const;

 private:
  using Clock = std::chrono::steady_clock;
  void Run();

  grpc::ClientContext& context_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Clock::time_point due_;
  bool expired_ = false;
  bool over_ = false;
  std::stop_callback<std::function<void()>> stop_;
  std::thread thread_;
};

}  // namespace mlc::transport
