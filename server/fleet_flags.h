// The flags --fleet and --fleet-config of mlc-server. Not thread-safe.
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

// Reads the configuration; empty without --fleet. `listen`: where the server listens.
// FAILED_PRECONDITION if the configuration is unusable, or if it gives workers no address to
// connect to.
Result<std::optional<fleet::FleetConfig>> ReadFleetFlags(const FleetFlags& flags,
                                                         const std::string& listen);

}  // namespace mlc::server
