// Workers placed by a site's own command: one JSON document in, one out, for each operation
// (docs/reference/fleet-file.md has the schema). deploy/kubernetes/fleet_hook.py is one for
// Kubernetes.
#pragma once

#include <memory>
#include <stop_token>

#include "server/fleet/config.h"
#include "server/fleet/provider.h"

namespace mlc::server::fleet {

std::unique_ptr<Provider> MakeExecProvider(const FleetConfig& config, const std::string& server,
                                           std::stop_token stop);

}  // namespace mlc::server::fleet
