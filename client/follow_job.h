// A job of a server followed to its end, by whoever submitted it or anybody else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/interrupt.h"
#include "client/progress_output.h"
#include "client/tuner_client.h"

namespace mlc::client {

struct Followed {
  proto::JobProgress progress;  // the last that was seen
  bool left = false;            // the job goes on without us
};

// Shows progress until the job ends, or until the first interrupt: the job does not need us. A
// server that goes away meanwhile is waited for; UNAVAILABLE if it stays away for many minutes.
Result<Followed> FollowJob(TunerClient& client, const std::string& job, ProgressOutput& output,
                           const Interrupt& interrupt);

}  // namespace mlc::client
