// mlc-log untuned: what builds wanted and the log has no record of. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "client/log/log_commands.h"

namespace mlc::client {

// Those wanted by most builds first, of one target if the options name it. Workloads that have a
// correct record by now are left out. NOT_FOUND if there is none.
Result<std::string> UntunedCommand(const LogOptions& options);

}  // namespace mlc::client
