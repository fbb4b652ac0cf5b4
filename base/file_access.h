// Why a file cannot be opened, in words that say what to do: whose it is, and who asks.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc {

// Of an open() that failed with `error`: "cannot read PATH: Permission denied; ...". `doing` is
// "cannot read" or "cannot write". NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED of a full disk
// or quota; else UNAVAILABLE.
Status CannotOpen(const std::string& doing, const std::string& path, int error);

}  // namespace mlc
