#include "server/tuner/search_threads.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "server/jobs/crash_marker.h"

namespace mlc::server {
namespace {

// Leases and time budgets are looked at this often when nothing else happens.
constexpr std::chrono::milliseconds kTick(200);

}  // namespace

SearchThreads::SearchThreads(const TunerContext& context, SearchQueue& queue, JobRunner& runner,
                             std::function<void()> tick)
    : context_(context), queue_(queue), runner_(runner), tick_(std::move(tick)) {}

SearchThreads::~SearchThreads() {
  queue_.Stop();
  for (std::thread& thread : threads_) thread.join();
}

void SearchThreads::Start(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

void SearchThreads::Loop() {
  // On Linux, of this thread alone.
  if (context_.options.search_nice > 0) {
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), context_.options.search_nice);
  }
  const SignalStack stack;
  while (!queue_.stopped()) {
    if (TickIsDue()) tick_();
    const std::shared_ptr<RunningJob> job = queue_.Take(kTick);
    if (job == nullptr) continue;
    {
      const ScopedCrashJob at_work(job->spec.id);
      runner_.Step(job);
    }
    queue_.Done(job);
  }
}

// True for one of the threads that ask.
bool SearchThreads::TickIsDue() {
  const int64_t now = context_.NowMs();
  int64_t next = next_tick_ms_;
  return now >= next && next_tick_ms_.compare_exchange_strong(next, now + kTick.count());
}

}  // namespace mlc::server
