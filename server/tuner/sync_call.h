// One Synchronize call in progress. It lives until the last commit of its results. The request
// never changes; any thread may add to the answer. Thread-safe.
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

  // The answer waits for the caller of the constructor as for one commit.
  SyncCall(WorkerCall asked, Reply reply, std::string its_class, int64_t now_ms);

  const WorkerCall request;
  const Reply reply;
  const std::string target_class;
  const int64_t arrived_ms;

  const std::string& worker() const { return request.worker; }
  // Tells the worker that it may forget the result: the log has it or will never need it.
  void Acknowledge(const Digest& uid) MLC_EXCLUDES(mutex_);
  // Tells the worker that the result was refused and that it is to forget it.
  void Refuse(const Digest& uid, const std::string& why) MLC_EXCLUDES(mutex_);
  void Fail(const Status& status) MLC_EXCLUDES(mutex_);
  // Await: the answer waits for one more commit. Done: one commit has ended; the last one gets the
  // answer.
  void Await() MLC_EXCLUDES(mutex_);
  std::optional<Result<WorkerOrders>> Done() MLC_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  WorkerOrders orders_ MLC_GUARDED_BY(mutex_);
  Status status_ MLC_GUARDED_BY(mutex_);
  int open_ MLC_GUARDED_BY(mutex_) = 1;
};

// The fields of a log message about a record.
std::string LogFields(const db::Record& record);

}  // namespace mlc::server
