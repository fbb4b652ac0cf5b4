// mlc-log merge: other logs into this one, and what was taken of each. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/log/log_commands.h"
#include "db/snapshot/merge.h"

namespace mlc::client {

// One after another, so that a later log is compared with what earlier ones brought. If one fails,
// what those before it brought stays. Errors of db::Merge, with the name of the log.
Result<std::string> MergeCommand(const LogOptions& options, const std::vector<std::string>& from,
                                 db::Trust trust);

}  // namespace mlc::client
