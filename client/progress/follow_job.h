// Follows a job of a server to its end. Another program may have submitted the job. Use it from one
// thread.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "client/progress/progress_output.h"
#include "client/service/tuner_client.h"

namespace mlc::client {

struct Followed {
  proto::JobProgress progress;  // the last one received
  bool left = false;            // true: the caller left, and the job continues
};

// Shows progress until the job ends or `leave` is requested; the job continues without the caller.
// If the server or the network fails, retries for `reconnect_timeout`, then returns UNAVAILABLE
// with the cause. Changes of the wall clock have no effect.
Result<Followed> FollowJob(TunerClient& client, const std::string& job, ProgressOutput& output,
                           const std::stop_token& leave,
                           std::chrono::milliseconds reconnect_timeout);

}  // namespace mlc::client
