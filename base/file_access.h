// Explains why a file cannot be opened: its owner, the user who asks, and what to do. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc {

// The status for an open() that failed with `error`: "cannot read PATH: Permission denied; ...".
// `doing` is "cannot read" or "cannot write". NOT_FOUND, PERMISSION_DENIED, or RESOURCE_EXHAUSTED
// for a full disk or quota; else UNAVAILABLE.
Status CannotOpen(const std::string& doing, const std::string& path, int error);

}  // namespace mlc
