// --fleet and --fleet-config of mlc-server.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "server/fleet/config.h"

namespace CLI {
class App;
}

namespace mlc::server {

struct FleetFlags {
  std::string kind;  // empty: no fleet
  std::string config;
};

void AddFleetFlags(CLI::App& app, FleetFlags& flags);

// Nothing without --fleet. FAILED_PRECONDITION for a configuration that cannot be used, also if
// workers would not know where to connect to: `listen` is where the server listens.
Result<std::optional<fleet::FleetConfig>> ReadFleetFlags(const FleetFlags& flags,
                                                         const std::string& listen);

}  // namespace mlc::server
