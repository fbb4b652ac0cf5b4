// Follows a job of a server to its end, from the program that submitted it or another one.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "client/progress/progress_output.h"
#include "client/service/tuner_client.h"

namespace mlc::client {

struct Followed {
  proto::JobProgress progress;  // the last one received
  bool left = false;            // true: the caller left, and the job goes on
};

// Shows progress until the job ends or `leave` is requested; the job goes on without the caller. If
// the server or its network goes away, waits for up to `reconnect_timeout`, then UNAVAILABLE with
// the cause. The wall clock may be set meanwhile.
Result<Followed> FollowJob(TunerClient& client, const std::string& job, ProgressOutput& output,
                           const std::stop_token& leave,
                           std::chrono::milliseconds reconnect_timeout);

}  // namespace mlc::client
