// Validates and bounds the data that a worker sends about itself: the server stores, lists and
// logs it. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "server/workers/worker_call.h"

namespace mlc::server {

// Empty if a worker may be called so; else what is wrong with the name.
std::string NameProblem(const std::string& name);

// INVALID_ARGUMENT if the call has no name or incarnation, or says more of its worker than a server
// keeps.
Status ValidateSynchronize(const WorkerCall& call);

}  // namespace mlc::server
