// How much of a workload's arithmetic a kernel executes: Winograd's needs less than a direct
// convolution, so its time may lie below the roofline of the workload. Pure; thread-safe.
#pragma once

#include <string>

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::server {

// Executed over asked-for operations if the config saves some, below 1; else 1, also for a config
// that is not of this version or comes from a user.
double ExecutedShare(const graph::Workload& workload, const target::Target& target,
                     const std::string& config);

}  // namespace mlc::server
