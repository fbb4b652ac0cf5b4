#include "server/tuner/sync_call.h"

#include <utility>

#include "base/wire/protocol.h"

namespace mlc::server {

SyncCall::SyncCall(proto::SynchronizeRequest asked, Reply answer, std::string its_class,
                   int64_t now_ms)
    : request(std::move(asked)),
      reply(std::move(answer)),
      target_class(std::move(its_class)),
      arrived_ms(now_ms) {}

void SyncCall::Acknowledge(const Digest& uid) {
  const MutexLock lock(mutex_);
  orders_.add_acknowledged(ToWire(uid));
}

void SyncCall::Refuse(const std::string& task_uid, const std::string& why) {
  const MutexLock lock(mutex_);
  proto::Refusal& refusal = *orders_.add_refused();
  refusal.set_task_uid(task_uid);
  refusal.set_reason(why);
}

void SyncCall::Fail(const Status& status) {
  const MutexLock lock(mutex_);
  status_ = status;
}

void SyncCall::Await() {
  const MutexLock lock(mutex_);
  ++open_;
}

std::optional<Result<proto::SynchronizeReply>> SyncCall::Done() {
  const MutexLock lock(mutex_);
  if (--open_ > 0) return std::nullopt;
  if (!status_.ok()) return Result<proto::SynchronizeReply>(status_);
  return Result<proto::SynchronizeReply>(std::move(orders_));
}

std::string LogFields(const db::Record& record) {
  return "job=" + record.job_id.ToText() + " task=" + record.task_uid.ToText() +
         " worker=" + record.worker;
}

}  // namespace mlc::server
