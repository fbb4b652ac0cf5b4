// The threads that run searches: each takes a due job from the queue, makes its step, and takes the
// next job. One thread also does the periodic work. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "server/tuner/job_runner.h"
#include "server/tuner/search_queue.h"
#include "server/tuner/tuner_context.h"

namespace mlc::server {

class SearchThreads {
 public:
  // Borrows context, queue and runner. `tick`: the periodic work, on one of the threads.
  SearchThreads(const TunerContext& context, SearchQueue& queue, JobRunner& runner,
                std::function<void()> tick);
  // Stops after the steps in progress.
  ~SearchThreads();
  SearchThreads(const SearchThreads&) = delete;
  SearchThreads& operator=(const SearchThreads&) = delete;

  // Call it once.
  void Start(int threads);

 private:
  void Loop();
  bool TickIsDue();

  const TunerContext& context_;
  SearchQueue& queue_;
  JobRunner& runner_;
  const std::function<void()> tick_;
  std::atomic<int64_t> next_tick_ms_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace mlc::server
