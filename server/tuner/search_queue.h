// Which job's search takes its next step: jobs come in the order in which something new came for
// them, and none is on two threads. Thread-safe; its mutex is the last one that a thread takes.
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
  // `threads`: that take jobs from it. At most half of them start searches at the same time: a
  // start takes long, and where all threads make starts, the workers of the other jobs run out of
  // trials.
  explicit SearchQueue(int threads);

  // The job is due for a step, or for another one if it takes one just now.
  void Schedule(const std::shared_ptr<RunningJob>& job) MLC_EXCLUDES(mutex_);
  // The next job that is due, whose turn it is until Done; waits for one, at most so long. Null if
  // there was none, or the queue has stopped.
  std::shared_ptr<RunningJob> Take(std::chrono::milliseconds longest) MLC_EXCLUDES(mutex_);
  void Done(const std::shared_ptr<RunningJob>& job) MLC_EXCLUDES(mutex_);
  // From now on Take returns null at once.
  void Stop() MLC_EXCLUDES(mutex_);
  bool stopped() const MLC_EXCLUDES(mutex_);

 private:
  using Jobs = std::deque<std::shared_ptr<RunningJob>>;
  struct Turn {
    bool starts = false;  // its search
    bool again = false;   // it became due meanwhile
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
