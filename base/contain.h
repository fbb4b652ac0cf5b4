// Runs work on untrusted input in a process that must survive a bug in the code for it.
// Thread-safe.
#pragma once

#include <functional>

#include "base/status.h"

namespace mlc {

// Runs `work`. If an MLC_CHECK of this thread fails inside, the work ends and Contain returns
// INTERNAL with the text of the check; the process continues. Exhausted memory and other exceptions
// do the same. Objects of the work are destroyed; do not use what it changed outside. Calls may be
// nested. Segmentation faults and arithmetic faults still end the process.
Status Contain(const std::function<Status()>& work);

}  // namespace mlc
