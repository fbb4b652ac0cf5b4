// What mlc-log says of user-supplied kernels with tunable parameters: a C header with the winners,
// and all records in the results format of the auto-tuning community (T4). Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "client/log/log_commands.h"

namespace mlc::client {

// Definitions of the fastest known values of the kernel `name`, by device and shape (workload). If
// there are several, the macros NAME_TARGET_... and NAME_SHAPE_... of the including source choose.
// NOT_FOUND if the log has no correct record of such a kernel.
Result<std::string> HeaderCommand(const LogOptions& options, const std::string& name);
// All records of the kernel, as T4. NOT_FOUND if the log has none.
Result<std::string> ResultsCommand(const LogOptions& options, const std::string& name);

}  // namespace mlc::client
