// One Synchronize on its way through the tuner: alive until the last commit of its results. What
// it was asked never changes; its answer grows from any thread. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/status.h"
#include "db/record.h"
#include "server/workers/worker_call.h"

namespace mlc::server {

class SyncCall {
 public:
  using Reply = std::function<void(Result<WorkerOrders>)>;

  // Counts as the first of what the answer waits for.
  SyncCall(WorkerCall asked, Reply reply, std::string its_class, int64_t now_ms);

  const WorkerCall request;
  const Reply reply;
  const std::string target_class;
  const int64_t arrived_ms;

  const std::string& worker() const { return request.worker; }
  // The log has the result, or never will: the worker may forget it.
  void Acknowledge(const Digest& uid) MLC_EXCLUDES(mutex_);
  // Never taken, and the worker is to forget it.
  void Refuse(const Digest& uid, const std::string& why) MLC_EXCLUDES(mutex_);
  void Fail(const Status& status) MLC_EXCLUDES(mutex_);
  // The answer waits for one more commit, or for one less: the last one gets the answer so far.
  void Await() MLC_EXCLUDES(mutex_);
  std::optional<Result<WorkerOrders>> Done() MLC_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  WorkerOrders orders_ MLC_GUARDED_BY(mutex_);
  Status status_ MLC_GUARDED_BY(mutex_);
  int open_ MLC_GUARDED_BY(mutex_) = 1;
};

// The fields of a log line about a record.
std::string LogFields(const db::Record& record);

}  // namespace mlc::server
