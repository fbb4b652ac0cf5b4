// The command line of a worker of a pool. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "server/fleet/config.h"

namespace mlc::server::fleet {

// The pool's program and arguments (default: mlc-worker in the folder of this program), followed by
// the address of the server and the worker's name. REQUIRES: the pool exists.
std::vector<std::string> WorkerCommand(const FleetConfig& config, const std::string& pool,
                                       const std::string& server, const std::string& name);

const PoolConfig& PoolOf(const FleetConfig& config, const std::string& pool);

}  // namespace mlc::server::fleet
