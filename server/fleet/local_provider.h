// A provider that runs workers as child processes of this machine. The kernel kills them when the
// thread that started them ends, so that a crash of the server leaves none behind. The destructor
// drains the workers and kills those that do not exit.
#pragma once

#include <memory>

#include "server/fleet/config.h"
#include "server/fleet/provider.h"

namespace mlc::server::fleet {

// `server`: the address that workers connect to. The thread that calls Ensure must outlive the
// workers.
std::unique_ptr<Provider> MakeLocalProvider(const FleetConfig& config, const std::string& server);

}  // namespace mlc::server::fleet
