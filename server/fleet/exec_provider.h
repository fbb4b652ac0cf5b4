// A provider that runs a command of the site for each operation, with one JSON document as input
// and one as output (schema: docs/reference/fleet-file.md). deploy/kubernetes/fleet_hook.py is such
// a command for Kubernetes.
#pragma once

#include <memory>
#include <stop_token>

#include "server/fleet/config.h"
#include "server/fleet/provider.h"

namespace mlc::server::fleet {

std::unique_ptr<Provider> MakeExecProvider(const FleetConfig& config, const std::string& server,
                                           std::stop_token stop);

}  // namespace mlc::server::fleet
