// What a worker says of itself, and how much of it: the server keeps it, lists it and writes it
// into its log. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "proto/worker.pb.h"

namespace mlc::server {

// Empty if a worker may be called so; else what is wrong with the name.
std::string NameProblem(const std::string& name);

// INVALID_ARGUMENT if the call has no name or incarnation, or says more of its worker than a server
// keeps.
Status CheckWhatIsTold(const proto::SynchronizeRequest& request);

}  // namespace mlc::server
