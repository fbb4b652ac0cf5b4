// A job of a server followed to its end, by the program that submitted it or another one.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "client/progress/progress_output.h"
#include "client/service/tuner_client.h"

namespace mlc::client {

struct Followed {
  proto::JobProgress progress;  // the last that was seen
  bool left = false;            // the job goes on without us
};

// Shows progress until the job ends, or until `leave` is requested: the job does not need us. A
// server that goes away meanwhile, or whose network does, is waited for; UNAVAILABLE with the cause
// if it stays away for `reconnect_timeout`. The clock may be set meanwhile.
Result<Followed> FollowJob(TunerClient& client, const std::string& job, ProgressOutput& output,
                           const std::stop_token& leave,
                           std::chrono::milliseconds reconnect_timeout);

}  // namespace mlc::client
