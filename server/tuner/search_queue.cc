#include "server/tuner/search_queue.h"

#include <algorithm>
#include <utility>

namespace mlc::server {

SearchQueue::SearchQueue(int threads) : most_starting_(std::max(1, threads / 2)) {}

void SearchQueue::Append(const std::shared_ptr<RunningJob>& job) {
  if (!is_due_.insert(job.get()).second) return;
  due_.push_back(job);
  wake_.NotifyOne();
}

void SearchQueue::Schedule(const std::shared_ptr<RunningJob>& job) {
  const MutexLock lock(mutex_);
  const auto turn = turns_.find(job.get());
  if (turn != turns_.end()) {
    turn->second.again = true;
  } else {
    Append(job);
  }
}

SearchQueue::Jobs::iterator SearchQueue::NextDue() {
  const bool may_start = starting_ < most_starting_;
  return std::find_if(due_.begin(), due_.end(),
                      [may_start](const auto& job) { return may_start || job->run != nullptr; });
}

std::shared_ptr<RunningJob> SearchQueue::Take(std::chrono::milliseconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  const MutexLock lock(mutex_);
  while (!stopped_ && NextDue() == due_.end()) {
    if (!wake_.WaitUntil(mutex_, deadline)) break;
  }
  const auto next = NextDue();
  if (stopped_ || next == due_.end()) return nullptr;
  std::shared_ptr<RunningJob> job = std::move(*next);
  due_.erase(next);
  is_due_.erase(job.get());
  const bool starts = job->run == nullptr;
  starting_ += starts ? 1 : 0;
  turns_[job.get()] = {starts, false};
  return job;
}

void SearchQueue::Done(const std::shared_ptr<RunningJob>& job) {
  const MutexLock lock(mutex_);
  const auto turn = turns_.find(job.get());
  starting_ -= turn->second.starts ? 1 : 0;
  const bool again = turn->second.again;
  turns_.erase(turn);
  if (again) Append(job);
}

void SearchQueue::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  wake_.NotifyAll();
}

bool SearchQueue::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace mlc::server
