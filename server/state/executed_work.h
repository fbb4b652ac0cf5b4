// The share of a workload's arithmetic that a kernel executes. Winograd's algorithm executes less
// than a direct convolution, so its time may lie below the roofline of the workload. Pure;
// thread-safe.
#pragma once

#include <string>

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::server {

// Executed operations divided by those of the workload: below 1 if the config saves some, else 1.
// Also 1 for a config of another version and for a user-supplied kernel.
double ExecutedShare(const graph::Workload& workload, const target::Target& target,
                     const std::string& config);

}  // namespace mlc::server
