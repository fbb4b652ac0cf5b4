// The queue of jobs whose searches are due for a step. Jobs are served in the order in which events
// arrived for them, and no job is on two threads. Thread-safe. A thread that holds several mutexes
// takes this one last.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "base/mutex.h"
#include "server/tuner/running_job.h"

namespace mlc::server {

class SearchQueue {
 public:
  // `threads`: the number of threads that take jobs. At most half of them start searches at the
  // same time. A start takes long; if all threads made starts, workers of other jobs would run out
  // of trials.
  explicit SearchQueue(int threads);

  // Makes the job due for a step, or for another step if it takes one now.
  void Schedule(const std::shared_ptr<RunningJob>& job) MLC_EXCLUDES(mutex_);
  // Takes the next due job, which stays with this thread until Done. Waits at most this long; null
  // if no job became due or the queue was stopped.
  std::shared_ptr<RunningJob> Take(std::chrono::milliseconds longest) MLC_EXCLUDES(mutex_);
  void Done(const std::shared_ptr<RunningJob>& job) MLC_EXCLUDES(mutex_);
  // Stops the queue: Take returns null immediately.
  void Stop() MLC_EXCLUDES(mutex_);
  bool stopped() const MLC_EXCLUDES(mutex_);

 private:
  using Jobs = std::deque<std::shared_ptr<RunningJob>>;
  struct Turn {
    bool starts = false;  // it starts its search in this step
    bool again = false;   // it became due during the step
  };
  Jobs::iterator NextDue() MLC_REQUIRES(mutex_);
  void Append(const std::shared_ptr<RunningJob>& job) MLC_REQUIRES(mutex_);

  const int most_starting_;
  mutable Mutex mutex_;
  CondVar wake_;
  Jobs due_ MLC_GUARDED_BY(mutex_);
  std::set<const RunningJob*> is_due_ MLC_GUARDED_BY(mutex_);
  std::map<const RunningJob*, Turn> turns_ MLC_GUARDED_BY(mutex_);
  int starting_ MLC_GUARDED_BY(mutex_) = 0;
  bool stopped_ MLC_GUARDED_BY(mutex_) = false;
};

}  // namespace mlc::server
