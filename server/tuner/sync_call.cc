#include "server/tuner/sync_call.h"

#include <utility>

namespace mlc::server {

SyncCall::SyncCall(WorkerCall asked, Reply answer, std::string its_class, int64_t now_ms)
    : request(std::move(asked)),
      reply(std::move(answer)),
      target_class(std::move(its_class)),
      arrived_ms(now_ms) {}

void SyncCall::Acknowledge(const Digest& uid) {
  const MutexLock lock(mutex_);
  orders_.acknowledged.push_back(uid);
}

void SyncCall::Refuse(const Digest& uid, const std::string& why) {
  const MutexLock lock(mutex_);
  orders_.refused.push_back({uid, why});
}

void SyncCall::Fail(const Status& status) {
  const MutexLock lock(mutex_);
  status_ = status;
}

void SyncCall::Await() {
  const MutexLock lock(mutex_);
  ++open_;
}

std::optional<Result<WorkerOrders>> SyncCall::Done() {
  const MutexLock lock(mutex_);
  if (--open_ > 0) return std::nullopt;
  if (!status_.ok()) return Result<WorkerOrders>(status_);
  return Result<WorkerOrders>(std::move(orders_));
}

std::string LogFields(const db::Record& record) {
  return "job=" + record.job_id.ToText() + " task=" + record.task_uid.ToText() +
         " worker=" + record.worker;
}

}  // namespace mlc::server
