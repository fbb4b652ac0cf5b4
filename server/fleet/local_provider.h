// Workers as processes of this machine. They die with the thread that started them, so that no
// crash of the server leaves one behind; the destructor drains them and kills those that stay.
#pragma once

#include <memory>

#include "server/fleet/config.h"
#include "server/fleet/provider.h"

namespace mlc::server::fleet {

// `server` is what workers connect to. The thread that calls Ensure must outlive the workers.
std::unique_ptr<Provider> MakeLocalProvider(const FleetConfig& config, const std::string& server);

}  // namespace mlc::server::fleet
