// Which files a snapshot or an export may replace. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::db {

// ALREADY_EXISTS if `to` is `log` itself or another log that programs write: a writer would go on
// with the old file. ALREADY_EXISTS also where no file can be made.
Status CheckReplaceable(const std::string& to, const std::string& log);

}  // namespace mlc::db
