// Decides whether a snapshot or an export may replace a file. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::db {

// UNWRITABLE if `to` is `log` itself or another log in use, because its writer would continue with
// the old file; also if no file can be created there.
Status CheckReplaceable(const std::string& to, const std::string& log);

}  // namespace mlc::db
