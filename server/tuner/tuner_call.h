// One Synchronize on its way through the tuner: alive until the last commit of its results. Guarded
// by the tuner's mutex; `open` counts the commits, and the call itself.
#pragma once

#include <string>
#include <vector>

#include "server/tuner/tuner.h"

namespace mlc::server {

struct Tuner::Call {
  proto::SynchronizeRequest request;
  Reply reply;
  std::string target_class;
  int64_t arrived_ms = 0;
  proto::SynchronizeReply orders;
  std::vector<db::Record> confirmed;  // results of others that this call has confirmed
  Status status;
  int open = 1;
};

// The fields of a log line about a record.
inline std::string LogFields(const db::Record& record) {
  return "job=" + record.job_id.ToText() + " task=" + record.task_uid.ToText() +
         " worker=" + record.worker;
}

}  // namespace mlc::server
