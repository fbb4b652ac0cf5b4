// Validates the data that a worker sends about itself, because the server stores, lists and logs
// it. Pure; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "server/workers/worker_call.h"

namespace mlc::server {

// What is wrong with the name of a worker; empty if nothing is.
std::string NameProblem(const std::string& name);

// INVALID_ARGUMENT if the call lacks a name or an incarnation, or if a field exceeds its limit.
Status ValidateSynchronize(const WorkerCall& call);

}  // namespace mlc::server
