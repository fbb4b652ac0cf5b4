// Builds libraries in their order on a few threads, while what is built is used. At most as many as
// there are threads lie ready, because each holds a copy of the model's weights. Use it from one
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <queue>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace mlc::client {

struct Built {
  size_t index = 0;
  std::string library;
};

class BuildAhead {
 public:
  // Ends early, with an error, when the token is stopped. Called by several threads at a time.
  using Build = std::function<Result<std::string>(size_t index, const std::stop_token& stop)>;

  BuildAhead(size_t count, size_t threads, Build build);
  // Stops the builds and waits for them.
  ~BuildAhead();

  // Waits until something is built, all is done or the time has come. At most `most` libraries; one
  // that cannot be built is left out.
  std::vector<Built> Take(size_t most, std::chrono::steady_clock::time_point until);
  // Nothing will come any more.
  bool IsDone() const;

 private:
  void Work(const std::stop_token& stop);

  const size_t count_;
  const size_t most_ready_;
  const Build build_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  size_t next_ = 0;
  size_t at_work_;  // threads
  std::queue<Built> ready_;
  std::vector<std::jthread> threads_;  // the last member: they use the others
};

}  // namespace mlc::client
